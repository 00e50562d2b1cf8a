"""The page of the book about the package is made of its docstrings. BLESS=1 writes it."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import Any

import ackclock as ac

PAGE = Path(__file__).resolve().parents[2] / "docs" / "src" / "reference" / "python.md"

PARTS = {
    "Experiments": ["Experiment", "experiments", "networks", "controllers", "metrics", "schema"],
    "Results": ["Results", "Run", "read", "Table"],
    "Questions": ["compare", "conform", "diff", "analyse", "replay", "Answer"],
    "Controllers": ["Controller", "use", "Used", "Range", "conformance", "Conformance"],
    "Signals": [
        "PathInfo",
        "Ack",
        "AckedPacket",
        "RateSample",
        "Report",
        "Sent",
        "Lost",
        "LostPacket",
        "Congestion",
        "Idle",
    ],
    "Sweeps": ["sweep", "RayExecutor"],
    "Errors": [
        "AckclockError",
        "ExperimentError",
        "Problem",
        "NotDeterministicWarning",
        "NotReusedWarning",
    ],
}
#: Documented elsewhere, or no object.
ELSEWHERE = {"__version__", "gym"}


def documented(name: str, given: Any, level: int) -> list[str]:
    """Return the lines about an object."""
    try:
        signature = str(inspect.signature(given))
    except (TypeError, ValueError):
        signature = ""
    signature = re.sub(r"'", "", signature).replace("(self, ", "(").replace("(self)", "()")
    kind = "class " if inspect.isclass(given) else ""
    lines = [f"{'#' * level} `{name}`", "", f"```python\n{kind}{name}{signature}\n```", ""]
    text = inspect.getdoc(given) or ""
    return [*lines, *prose(text), ""]


def prose(text: str) -> list[str]:
    """Return a docstring as Markdown: its sections as lists, its examples as code."""
    text = text.replace("``", "`")
    lines, in_code = [], False
    for line in text.split("\n"):
        is_code = line.startswith((">>>", "...")) or (in_code and line != "")
        if is_code != in_code:
            lines.append("```python" if is_code else "```")
        in_code = is_code
        section = re.fullmatch(r"(Args|Attributes|Returns|Raises):", line)
        item = re.fullmatch(r" {4}(\w+): (.*)", line)
        if section and not in_code:
            lines += [f"{section[1]}:", ""]
        elif item and not in_code:
            lines.append(f"* `{item[1]}`: {item[2]}")
        else:
            lines.append(
                line
                if in_code
                else line.strip()
                if not line.startswith("        ")
                else "  " + line.strip()
            )
    return lines + (["```"] if in_code else [])


def fields(given: Any) -> list[str]:
    """Return the attributes of a signal."""
    # Their order in the class is not fixed.
    names = sorted(name for name, value in vars(given).items() if inspect.isgetsetdescriptor(value))
    return [", ".join(f"`{name}`" for name in names), ""]


def members(given: Any) -> list[tuple[str, Any]]:
    """Return the public methods and properties of a class that have a docstring."""
    found = []
    for name, value in vars(given).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None) or value
        if not name.startswith("_") and callable(function) and inspect.getdoc(function):
            found.append((name, function))
    return found


def test_reference() -> None:
    lines = [
        "# Python",
        "",
        "All names of the package `ackclock`, from its docstrings. Signals have seconds, bytes and",
        "bit/s. Metrics and tables have the units that `metrics()` and `Table.units` tell.",
        "",
    ]
    for part, names in PARTS.items():
        lines += [f"## {part}", ""]
        for name in names:
            given = getattr(ac, name)
            lines += documented(name, given, 3)
            if part == "Signals":
                lines += fields(given)
            elif inspect.isclass(given) and not issubclass(given, (Exception, dict)):
                for member, function in members(given):
                    summary = (
                        (inspect.getdoc(function) or "")
                        .replace("``", "`")
                        .split("\n\n")[0]
                        .replace("\n", " ")
                    )
                    lines.append(f"* `{name}.{member}`: {summary}")
                lines.append("")
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"
    if os.environ.get("BLESS"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text


def test_every_public_name_is_on_the_page() -> None:
    named = {name for names in PARTS.values() for name in names} | ELSEWHERE
    assert set(ac.__all__) | {"sweep", "RayExecutor"} <= named
