"""Experiments: from a dict, a file, a name; their mistakes, runs and results."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac

Dict = dict[str, Any]

#: Shipped experiments whose files Python and the command must write alike.
SHIPPED = [
    "quic-dc/reverse-traffic", "quic-dc/table-5", "ecn-fairness/figure-6", "dccc/figure-5",
    "dccc/figure-15", "thesis/recovery", "thesis/figure-34", "dstar/figure-6-7",
    "rfc8867/6-2-ecn", "rfc8698/priority", "reference/ns3-4bdp", "lessons/1-slow-start",
]  # fmt: skip


class Index:
    """A whole number of another library, as numpy has them."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def command(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    words = [sys.executable, "-m", "ackclock", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of every file below a folder."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


def test_a_dict_is_a_file(small: Dict, tmp_path: Path) -> None:
    study = ac.Experiment(small)
    file = tmp_path / "same.toml"
    file.write_text(study.to_toml())
    same = ac.Experiment(file)
    assert same.name == "same"
    assert same.to_toml() == study.to_toml() == ac.Experiment(study.to_toml()).to_toml()
    assert same.simulate().metrics == study.simulate().metrics


def test_all_mistakes_are_told_at_once(small: Dict, tmp_path: Path) -> None:
    wrong = {**small, "lnk": {}, "flow": [{"controller": "cubik"}]}
    with pytest.raises(ac.ExperimentError) as raised:
        ac.Experiment(wrong)
    problems = raised.value.problems
    assert {problem["key"] for problem in problems} == {"lnk", "flow.0.controller"}
    assert all(problem["line"] is None and problem["right"] for problem in problems)
    assert 'did you mean "link"' in str(raised.value)
    assert isinstance(raised.value, ValueError)
    assert pickle.loads(pickle.dumps(raised.value)).problems == problems
    file = tmp_path / "wrong.toml"
    file.write_text(
        'title = "t"\nduration = "1 s"\n[link]\nrate = "10 Mbyte"\n[[flow]]\ncontroller = "cubic"\n'
    )
    with pytest.raises(ac.ExperimentError) as raised:
        ac.Experiment(file)
    (rate,) = [problem for problem in raised.value.problems if problem["key"] == "link.rate"]
    assert (rate["line"], rate["file"]) == (4, str(file))


@pytest.mark.parametrize(
    "source", ["no/such", "missing.toml", "quic-dc", 7, {"title": {1, 2}}, {"title": None}, {}]
)
def test_sources_that_are_no_experiment(source: Any) -> None:
    with pytest.raises((ac.AckclockError, TypeError)):
        ac.Experiment(source)


def test_changes(small: Dict) -> None:
    study = ac.Experiment(small)
    faster = study.set("link.rate", "20 Mbit/s").set(
        {"duration": "3 s", "repetitions": 2, "link.queue": "2 BDP"}
    )
    assert study.simulate().metrics["goodput"] < 10 < faster.simulate().metrics["goodput"]
    assert len(faster.plan()) == 2
    assert faster.plan()["duration_s"] == [3.0, 3.0]
    with pytest.raises(ac.ExperimentError, match=r"link\.quue"):
        study.set("link.quue", "1 BDP")
    with pytest.raises(ac.ExperimentError):
        study.set("duration", {"x": 1})


def test_cases_and_repetitions(small: Dict) -> None:
    study = ac.Experiment(
        {
            **small,
            "repetitions": 2,
            "vary": {"link.queue": ["0.5 BDP", "2 BDP"], "link.loss": ["0 %", "1 %"]},
        }
    )
    assert len(study.cases) == 4
    run = study.simulate(3, repetition=1)
    assert run.runs["seed"] == [2]
    assert set(run.runs.keys) == {"link.queue", "link.loss"}
    assert study.simulate(Index(3)).metrics == study.simulate(3).metrics
    with pytest.raises(IndexError, match="no case 4; there are 4, from 0"):
        study.simulate(4)
    with pytest.raises(ac.ExperimentError, match="0 cases have the row 'x'"):
        study.simulate("x")
    labelled = ac.Experiment({**small, "vary": {"link.queue": ["0.5 BDP", "2 BDP"]}})
    assert labelled.simulate("2 BDP").metrics == labelled.simulate(1).metrics
    assert labelled.simulate(0).metrics["rtt_mean"] < labelled.simulate(1).metrics["rtt_mean"]


def test_results(small: Dict, tmp_path: Path) -> None:
    study = ac.Experiment(
        {
            **small,
            "repetitions": 3,
            "series": "100 ms",
            "vary": {"flow.controller": ["cubic", "bbr3"]},
        }
    )
    told: list[tuple[str, float, int, int]] = []
    results = study.run(tmp_path, progress=lambda *state: told.append(state))
    assert results.summary["row"] == ["cubic", "bbr3"]
    assert results.summary["goodput"][0] == pytest.approx(sum(results.runs["goodput"][:3]) / 3)
    assert results.summary.units["goodput"] == "Mbit/s"
    assert len(results.runs) == len(results.flows) == 6
    assert len(results.series) == 6 * 20
    assert "goodput" in str(results)
    assert results.report().is_file()
    assert results.to_dict()["experiment"] == study.name
    for found in (ac.read(results.path), ac.read(tmp_path)):
        assert found.summary.to_dict() == results.summary.to_dict()
    assert all(0 <= share <= 1 and done <= runs == 6 for _, share, done, runs in told)
    before = digests(results.path)
    assert study.run(tmp_path).path == results.path
    assert digests(results.path) == before
    (results.path / "runs.csv").write_text("damaged")
    with pytest.raises(OSError, match=r"runs\.csv"):
        ac.read(results.path)
    with pytest.raises(OSError, match=r"no such|No such"):
        ac.read(tmp_path / "none")


def test_runs_in_memory_leave_nothing(
    small: Dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    run = ac.Experiment({**small, "series": "50 ms"}).simulate()
    assert not list(tmp_path.iterdir())
    assert len(run.series) == 40
    with pytest.raises(ac.AckclockError, match="in memory"):
        _ = run.path


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_experiments_have_the_files_of_the_command(name: str, tmp_path: Path) -> None:
    ours = ac.Experiment(name).set("repetitions", 1).run(tmp_path / "python")
    done = command("run", name, "--repeat", "1", "--out", tmp_path / "command")
    assert done.returncode in (0, 1), done.stderr
    (theirs,) = (tmp_path / "command" / name).iterdir()
    assert ours.path.name == theirs.name
    assert digests(ours.path) == digests(theirs)
    assert "summary.json" in digests(theirs)


def test_every_shipped_experiment_is_read() -> None:
    assert len(ac.experiments()) > 50
    for name in ac.experiments():
        assert ac.Experiment(name).title
    assert "lte" in ac.networks()
    assert "cubic" in ac.controllers()["name"]
    assert ac.schema()["properties"]["link"]


def test_combinations_that_are_left_out_are_told(small: Dict) -> None:
    study = ac.Experiment({**small, "vary": {"link.rate": ["10 Mbit/s", "100 kbit/s"]}})
    assert len(study.cases) == 1
    assert study.note.startswith("1 of 2 combinations is left out; with 100 kbit/s, a queue of")


def test_candidates() -> None:
    study = ac.Experiment("quic-dc/table-1").with_controllers("new-reno", "cubic")
    assert {row for _, row in study.cases} == {"new-reno", "cubic"}
    with pytest.raises(ac.ExperimentError):
        ac.Experiment("quic-dc/table-1").with_controllers("cubik")


def test_other_worlds(small: Dict) -> None:
    study = ac.Experiment({**small, "flow": [{"controller": "cubic", "transport": "quic"}]})
    assert study.simulate(on="stack").metrics["goodput"] > 8
    with pytest.raises(ac.AckclockError, match="unknown world `moon`"):
        study.simulate(on="moon")  # type: ignore[arg-type]
    tcp = ac.Experiment({**small, "flow": [{"controller": "cubic", "transport": "tcp"}]})
    with pytest.raises(ac.AckclockError, match="TCP"):
        tcp.simulate(on="stack")


@pytest.mark.parametrize("name", ["/abs", "../x", "..", "a/../b", "a\\b", "", "a//b"])
def test_names_that_leave_the_folder(name: str, small: Dict) -> None:
    with pytest.raises(ac.ExperimentError, match="name"):
        ac.Experiment({**small, "title": ""} if not name else small, name=name or " ")


def test_plain_numbers_of_numpy(small: Dict) -> None:
    numpy = pytest.importorskip("numpy")
    study = ac.Experiment({**small, "repetitions": numpy.int64(2), "seed": numpy.int32(7)})
    assert study.plan()["seed"] == [7, 8]
    used = [ac.use("cubic", beta=b, label=str(b)) for b in numpy.linspace(0.5, 0.75, 2)]
    assert len(ac.Experiment({**small, "vary": {"flow.controller": used}}).cases) == 2
