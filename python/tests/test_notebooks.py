"""The notebooks run, and their pages in the book show what they print.

BLESS=1 writes the pages anew, and the charts if vl-convert-python is installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
for needed in ("ipykernel", "altair", "polars"):
    pytest.importorskip(needed)

WRAP: Any = {"break_long_words": False, "break_on_hyphens": False}
HERE = Path(__file__).resolve().parents[1] / "notebooks"
BOOK = Path(__file__).resolve().parents[2] / "docs" / "src" / "notebooks"
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))


def page(notebook: Any, name: str) -> tuple[str, list[dict[str, Any]]]:
    """Return a notebook as Markdown, and its charts."""
    parts, charts = [], []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            paragraphs = (textwrap.fill(p, 100, **WRAP) for p in cell.source.split("\n\n"))
            parts.append("\n\n".join(paragraphs))
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if output.get("name") == "stderr":
                # Progress, which depends on the machine.
                continue
            chart = data.get("application/json")
            if chart is not None:
                charts.append(chart)
                parts.append(f"![chart]({name}-{len(charts)}.svg)")
                continue
            text = output.get("text") or data.get("text/plain", "")
            parts.append("```text\n" + text.strip("\n").replace(str(Path.cwd()), ".") + "\n```")
    parts.append(f"The notebook: `python/notebooks/{name}.ipynb`.")
    return re.sub(r"[ \t]+\n", "\n", "\n\n".join(parts)) + "\n", charts


def comparable(text: str, name: str) -> str:
    """Return the part of a page that is the same on each machine: numpy's tanh is not."""
    return re.sub(r"```text\n.*?\n```", "", text, flags=re.S) if name == "learning" else text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.stem == "learning":
        pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(path, as_version=4)
    # Charts as specifications, not as pages.
    renderer = "import altair; _ = altair.renderers.enable('json')"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(renderer))
    nbclient.NotebookClient(
        notebook, timeout=900, resources={"metadata": {"path": tmp_path}}
    ).execute()
    notebook.cells.pop(0)
    text, charts = page(notebook, path.stem)
    for chart in charts:
        assert len(json.dumps(chart)) < 1_000_000
    file = BOOK / f"{path.stem}.md"
    if os.environ.get("BLESS"):
        BOOK.mkdir(exist_ok=True)
        file.write_text(text)
        if importlib.util.find_spec("vl_convert"):
            import vl_convert

            for number, chart in enumerate(charts, 1):
                (BOOK / f"{path.stem}-{number}.svg").write_text(vl_convert.vegalite_to_svg(chart))
    assert comparable(file.read_text(), path.stem) == comparable(text, path.stem)
