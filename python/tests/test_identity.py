"""Results of controllers in Python are used again only if all that decides them is the same."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock.identity import identity

SOURCE = """
import math
import ackclock as ac
from helper_of_a_test import factor
GAIN = 2

class Mine(ac.Controller):
    BETA = 0.5

    def on_ack(self, ack):
        # A comment.
        self.cwnd = 10_000 * factor() * GAIN * math.sqrt(4)

    def on_congestion(self, event):
        self.cwnd *= self.BETA
"""
HELPER = "OTHER = 3\n\ndef factor():\n    return 1 + inner()\n\ndef inner():\n    return 1\n"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(source: str = SOURCE, helper: str = HELPER) -> str | None:
        (tmp_path / "helper_of_a_test.py").write_text(helper)
        (tmp_path / "class_of_a_test.py").write_text(source)
        for name in ("helper_of_a_test", "class_of_a_test"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return identity([importlib.import_module("class_of_a_test").Mine])

    return load


def test_the_same_source_has_the_same_identity(load: Any) -> None:
    first = load()
    assert first is not None
    assert load() == first
    assert load(SOURCE.replace("# A comment.", "# Another comment.")) == first


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("10_000", "20_000"),
        ("BETA = 0.5", "BETA = 0.6"),
        ("GAIN = 2", "GAIN = 3"),
        ("math.sqrt", "math.exp"),
        ("*=", "/="),
    ],
)
def test_another_class_has_another_identity(old: str, new: str, load: Any) -> None:
    assert load(SOURCE.replace(old, new)) != load()


def test_another_helper_has_another_identity(load: Any) -> None:
    first = load()
    assert load(helper=HELPER.replace("1 + inner()", "2 + inner()")) != first
    assert load(helper=HELPER.replace("return 1\n", "return 5\n")) != first
    # A module that is named as a whole counts as a whole.
    whole = SOURCE.replace(
        "from helper_of_a_test import factor", "import helper_of_a_test"
    ).replace("factor()", "helper_of_a_test.factor()")
    assert load(whole, HELPER.replace("OTHER = 3", "OTHER = 4")) != load(whole)


def test_what_cannot_be_known_has_none() -> None:
    handle = (i for i in range(3))

    class Mine(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd = 1000 + next(handle)

    assert identity([Mine]) is None


def test_values_at_run_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("made_up")
    exec(
        "import ackclock as ac\nGAIN = 1\nclass Mine(ac.Controller):\n    def on_ack(self, ack):\n        self.cwnd = GAIN",
        module.__dict__,
    )
    first = identity([module.Mine])
    module.GAIN = 2  # type: ignore[attr-defined]
    assert identity([module.Mine]) != first is not None
    numpy = pytest.importorskip("numpy")
    module.GAIN = numpy.arange(3.0)  # type: ignore[attr-defined]
    array = identity([module.Mine])
    assert array is not None
    module.GAIN[1] = 7
    assert identity([module.Mine]) != array


def test_results_are_used_again(small: dict[str, Any], tmp_path: Path) -> None:
    calls: list[int] = []

    def study(packets: int) -> ac.Experiment:
        class Mine(ac.Controller):
            def on_ack(self, ack: ac.Ack) -> None:
                self.cwnd = packets * 1200

        return ac.Experiment({**small, "flow": [{"controller": Mine}]})

    first = study(2).run(tmp_path)
    assert study(2).run(tmp_path).path == first.path
    assert study(4).run(tmp_path).path != first.path

    class Counting(ac.Controller):
        def on_interval(self, report: ac.Report) -> None:
            calls.append(1)

        interval = 0.5

    counting = ac.Experiment({**small, "flow": [{"controller": Counting}]})
    counting.run(tmp_path)
    # The list is a part of the identity, and has changed.
    assert counting.run(tmp_path).path != first.path
