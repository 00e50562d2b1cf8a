"""The scripts of the how-to run as they are written. Those for Slurm are in `slurm`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock as ac

PAGE = Path(__file__).parents[2] / "docs/src/how-to/many-machines.md"


@pytest.mark.parametrize(
    ("script", "needs"),
    [("pool_sweep.py", "ackclock"), ("dask_sweep.py", "distributed"), ("ray_sweep.py", "ray")],
)
def test_the_scripts_make_the_results_of_one_process(
    script: str, needs: str, tmp_path: Path
) -> None:
    pytest.importorskip(needs)
    for name, text in re.findall(
        r"```\w+,file=(\S+)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    ):
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "study: Goodput over the queue" in done.stdout
    one = ac.Experiment(tmp_path / "study.toml", name="study").run(tmp_path / "expected")
    made = ac.read(tmp_path / "results" / "study")
    assert (made.path / "SHA256SUMS").read_text() == (one.path / "SHA256SUMS").read_text()
