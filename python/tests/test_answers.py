"""Questions: the arguments of the command, its screens and pages."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_experiments import command

import ackclock as ac

LINK = "rate=5 Mbit/s rtt=20 ms queue=1 BDP"

#: Flags of the command that Python has in another form, or does not need.
FORMS = {"json", "markdown", "verbose", "help", "junit"}


@pytest.mark.parametrize("name", ["compare", "conform", "diff", "analyse", "replay"])
def test_every_flag_of_the_command_is_a_keyword(name: str) -> None:
    flags = set(re.findall(r"--([a-z-]+)", command(name, "--help").stdout.split("Options:")[1]))
    flags = {
        f for f in flags if re.search(rf"^ +(-\w, )?--{f}\b", command(name, "--help").stdout, re.M)
    }
    keywords = {
        key.rstrip("_").replace("_", "-") for key in inspect.signature(getattr(ac, name)).parameters
    }
    assert flags - FORMS <= keywords, flags - FORMS - keywords
    own = {"jobs", "progress", "controllers", "stack", "before", "after", "logs", "log"}
    assert keywords <= flags | own, keywords - flags - own


def test_compare_has_the_screen_of_the_command(tmp_path: Path) -> None:
    answer = ac.compare("cubic", "new-reno", link=LINK, time="8 s", out=tmp_path / "a")
    done = command(
        "compare", "cubic", "new-reno", "--link", LINK, "--time", "8 s", "--out", tmp_path / "b"
    )
    assert done.returncode == 0
    assert str(answer).split() == done.stdout.split("report:")[0].split()
    assert answer.page is not None
    assert answer.page.is_file()
    shown = answer._repr_html_()
    assert "<svg" in shown
    assert "<script" not in shown
    assert answer.passes
    assert {result["experiment"] for result in answer.data["results"]}


def test_charts_are_those_of_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = {"link": LINK, "time": "8 s", "out": "here"}
    monkeypatch.chdir(tmp_path)
    first = ac.compare("cubic", "new-reno", **out)  # type: ignore[arg-type]
    second = ac.compare("bbr3", "vegas", **out)  # type: ignore[arg-type]
    assert first.page == second.page
    monkeypatch.chdir("/")
    for answer, names in ((first, ("cubic", "new-reno")), (second, ("bbr3", "vegas"))):
        shown = answer._repr_html_().split("</pre>", 1)[1]
        assert {
            name for name in ("cubic", "new-reno", "bbr3", "vegas") if f">{name}<" in shown
        } == set(names)
        assert all(result.summary for result in answer.results)


def test_compare_with_classes(tmp_path: Path) -> None:
    class Half(ac.Controller):
        def __init__(self, path: ac.PathInfo, packets: int = 4) -> None:
            self.cwnd = packets * path.max_datagram_size

        def on_ack(self, ack: ac.Ack) -> None:
            pass

    used = ac.use(Half, packets=2, label="a half of it")
    answer = ac.compare("cubic", Half, used, link=LINK, time="8 s", out=tmp_path, against=Half)
    assert "Half" in str(answer)


def test_compare_over_networks(tmp_path: Path) -> None:
    file = tmp_path / "set.toml"
    file.write_text(
        'title = "t"\nduration = "8 s"\n[link]\nrate = "4 Mbit/s"\ndelay = "5 ms"\nqueue = "1 BDP"\n'
        '[[flow]]\ncontroller = "cubic"\n[vary]\n"link.queue" = ["0.5 BDP", "2 BDP"]\n'
    )
    answer = ac.compare("cubic", "bbr3", link=file, out=tmp_path / "r")
    assert "2 networks" in str(answer)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (["cubic"], {}, "compare"),
        (["cubic", "cubik"], {}, "cubik"),
        (["cubic", "bbr3"], {"link": "rate=20"}, "rate"),
        (["cubic", "bbr3"], {"margin": "x"}, "margin"),
        (["cubic", "bbr3"], {"repeat": -1}, "repeat"),
        (["cubic", "bbr3"], {"map": "a"}, "map"),
        (["--help"], {}, "one controller cannot be compared"),
    ],
)
def test_wrong_questions(arguments: Any, keywords: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ac.ExperimentError, match=message) as raised:
        ac.compare(*arguments, **keywords, out=tmp_path)
    assert raised.value.problems


def test_logs(small: dict[str, Any], tmp_path: Path) -> None:
    study = ac.Experiment({**small, "flow": [{"controller": "cubic", "transport": "quic"}]})
    results = study.run(tmp_path / "r", qlog="0.3")
    logs = sorted((results.path / "qlog").rglob("*.sqlog"))
    answer = ac.analyse(*logs, out=tmp_path / "a")
    assert "goodput" in str(answer)
    (stored,) = answer.results
    # The run's first part is not measured, that of the log is.
    assert stored.flows["goodput"][0] == pytest.approx(results.flows["goodput"][0], rel=0.1)
    assert len(stored.series) > 10
    (sender,) = [log for log in logs if "receiver" not in log.name]
    replayed = ac.replay(sender, controller="bbr3", out=tmp_path / "a")
    assert "bbr3" in str(replayed)
    json.dumps(replayed.data)
    with pytest.raises(ac.AckclockError, match="No such file"):
        ac.analyse(tmp_path / "missing.sqlog")


def test_diff(small: dict[str, Any], tmp_path: Path) -> None:
    study = ac.Experiment({**small, "repetitions": 3})
    before = study.run(tmp_path / "a")
    study.set("link.rate", "6 Mbit/s").run(tmp_path / "b")
    answer = ac.diff(tmp_path / "a", tmp_path / "b", fail_if="goodput -3 %")
    assert not answer.passes
    assert ac.diff(tmp_path / "a", tmp_path / "a", fail_if="goodput -3 %").passes
    assert ac.diff(before, before, fail_if="goodput -3 %").passes
    assert before.name in answer.details
    with pytest.raises(ac.AckclockError, match="no such folder"):
        ac.diff(tmp_path / "a" / "none", tmp_path / "b")


def test_conform(tmp_path: Path) -> None:
    answer = ac.conform("ackclock", controller="new-reno", quick=True, repeat=1, out=tmp_path)
    assert "ackclock" in str(answer)
    assert answer.passes
