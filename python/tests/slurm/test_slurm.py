"""Sweeps on a Slurm of one node, with the scripts of the how-to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ackclock as ac

from .node import Node, NoSlurmError

PAGE = Path(__file__).parents[3] / "docs/src/how-to/many-machines.md"

KILLED = """
import os, pathlib, signal
import ackclock as ac

class Killer(ac.Controller):
    def on_round(self, report):
        marker = pathlib.Path("killed")
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        self.cwnd += 1200

study = ac.Experiment({
    "title": "Killed", "duration": "1 s", "link": {"rate": "2 Mbit/s", "delay": "10 ms"},
    "flow": [{}], "vary": {"flow.controller": ["cubic", Killer, "vegas"]},
})
if __name__ == "__main__":
    study.run_part("results", int(os.environ["SLURM_ARRAY_TASK_ID"]), 3)
"""


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    try:
        with Node() as started:
            yield started
    except NoSlurmError as why:
        pytest.skip(f"no Slurm here: {why}")


@pytest.fixture
def folder(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with the files of the how-to and the command."""
    for name, text in re.findall(
        r"```\w+,file=(\S+)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    ):
        (tmp_path / name).write_text(text)
    command = tmp_path / "bin" / "ackclock"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ackclock "$@"\n')
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_CONF", node.environment["SLURM_CONF"])
    monkeypatch.setenv(
        "PATH", f"{command.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return tmp_path


def sbatch(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Submit a job, and wait for its end."""
    command = ["sbatch", "--wait", "--parsable", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def digest(results: ac.Results) -> dict[str, bytes]:
    files = [file for file in results.path.rglob("*") if file.is_file()]
    return {file.relative_to(results.path).as_posix(): file.read_bytes() for file in files}


def output(folder: Path) -> str:
    return "\n".join(file.read_text() for file in folder.glob("slurm-*.out"))


def test_an_array_of_commands(folder: Path) -> None:
    done = sbatch("--array=1-3", "--cpus-per-task=1", "study.sbatch")
    assert done.returncode == 0, done.stderr + output(folder)
    subprocess.run(["ackclock", "run", "study.toml", "--out", "expected"], check=True)
    assert digest(ac.read("results/study")) == digest(ac.read("expected/study"))


def test_an_array_of_parts_in_python(folder: Path) -> None:
    done = sbatch("--array=1-3", "part.sbatch")
    assert done.returncode == 0, done.stderr + output(folder)
    assert "12 of 12 runs are done" in output(folder)
    made = ac.read("results/study")
    assert digest(made) == digest(ac.Experiment("study.toml").run("expected"))


def test_submitit(folder: Path) -> None:
    pytest.importorskip("submitit")
    command = [sys.executable, "submitit_sweep.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    made = ac.read("results/study")
    assert digest(made) == digest(ac.Experiment("study.toml").run("expected"))
    # One array, and not one job for each part.
    arrays = {file.name.split("_")[0] for file in folder.glob("jobs/*_result.pkl")}
    assert len(arrays) == 1


def test_a_killed_task_loses_its_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "killed_task.py").write_text(KILLED)
    job = ("--array=0-2", f"--wrap={sys.executable} killed_task.py")
    assert sbatch(*job).returncode != 0
    assert len(list(folder.glob("results/killed/.runs-*/*.run"))) == 2
    done = sbatch(*job)
    assert done.returncode == 0, done.stderr + output(folder)
    monkeypatch.syspath_prepend(folder)
    study = __import__("killed_task").study
    assert digest(ac.read("results/killed")) == digest(study.run("expected"))
