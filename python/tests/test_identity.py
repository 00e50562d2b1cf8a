"""Results of controllers in Python are used again only if all that decides them is the same."""

from __future__ import annotations

import collections
import copy
import datetime
import importlib
import sys
import types
from decimal import Decimal
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


def test_a_study_takes_controllers_as_they_are_when_it_runs(
    small: dict[str, Any], tmp_path: Path
) -> None:
    class Mine(ac.Controller):
        packets = 2

        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd = self.packets * 1200

    study = ac.Experiment({**small, "flow": [{"controller": Mine}]})
    two = study.run(tmp_path).runs["goodput"]
    Mine.packets = 4
    four = study.run(tmp_path).runs["goodput"]
    assert four[0] > 1.5 * two[0]
    assert four == [study.simulate().metrics["goodput"]]
    Mine.packets = 2
    assert (
        ac.Experiment({**small, "flow": [{"controller": Mine}]}).run(tmp_path).runs["goodput"]
        == two
    )


def test_a_changed_class_is_called_as_it_is_now(small: dict[str, Any]) -> None:
    class Mine(ac.Controller):
        interval = "500 ms"
        calls = 0

        def on_interval(self, report: ac.Report) -> None:
            type(self).calls += 1

    study = ac.Experiment({**small, "flow": [{"controller": Mine}]})
    study.simulate()
    slow, Mine.calls, Mine.interval = Mine.calls, 0, "10 ms"
    study.simulate()
    assert Mine.calls > 20 * slow


def _same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Report whether two sources of a class `Mine` have one identity that is known."""
    found = [identity([source["Mine"]]) for source in (first, second)]
    return found[0] is not None and found[0] == found[1]


def made(body: str, before: str = "") -> dict[str, Any]:
    source = f"import ackclock as ac\nimport collections, enum, functools, os, re\n{before}\nclass Mine(ac.Controller):\n    def on_ack(self, ack):\n        {body}\n"
    namespace: dict[str, Any] = {"__name__": "made_up"}
    exec(source, namespace)
    return namespace


@pytest.mark.parametrize(
    ("body", "one", "other"),
    [
        ("self.cwnd = T.b", "T = collections.namedtuple('T', 'a b')(1, 2)", "T = collections.namedtuple('T', 'b a')(1, 2)"),
        ("self.cwnd = D[3]", "D = collections.defaultdict(int)", "D = collections.defaultdict(list)"),
        ("self.cwnd = get(1)", "get = {1: 2}.get", "get = {1: 3}.get"),
        ("self.cwnd = join('ab')", "join = 'x'.join", "join = 'y'.join"),
        ("self.cwnd = P('1')", "P = functools.partial(int, base=3)", "P = functools.partial(int, base=4)"),
        ("self.cwnd = bool(R.match('a'))", "R = re.compile('a')", "R = re.compile('b')"),
        ("self.cwnd = E.A.value", "class E(enum.Enum):\n    A = 1", "class E(enum.Enum):\n    A = 2"),
        ("self.cwnd = f.x", "def f(): pass\nf.x = 1", "def f(): pass\nf.x = 2"),
        ("self.cwnd = C()[0]", "class C(dict):\n    def __missing__(self, k): return 1", "class C(dict):\n    def __missing__(self, k): return 2"),
        ("self.cwnd = A.f()", "class A:\n    @staticmethod\n    def f(x=1): return x", "class A:\n    @classmethod\n    def f(x=1): return x"),
    ],
)  # fmt: skip
def test_values_that_look_alike(body: str, one: str, other: str) -> None:
    assert not _same(made(body, one), made(body, other))


@pytest.mark.parametrize(
    "body",
    [
        "self.cwnd = int(open('/tmp/x').read())",
        "self.cwnd = int(os.environ['X'])",
        "self.cwnd = globals()['X']",
        "self.cwnd = eval('X')",
    ],
)
def test_what_is_read_outside_has_no_identity(body: str) -> None:
    assert identity([made(body)["Mine"]]) is None


def test_where_a_line_is_in_a_try() -> None:
    one = made(
        "try:\n            x = ack.now\n            self.cwnd = 5\n        except Exception: pass"
    )
    other = made(
        "try:\n            x = ack.now\n        except Exception: pass\n        else:\n            self.cwnd = 5"
    )
    assert not _same(one, other)


def test_a_module_that_a_method_imports(load: Any) -> None:
    inside = (
        SOURCE.replace("from helper_of_a_test import factor\n", "")
        .replace(
            "    def on_ack(self, ack):",
            "    def on_ack(self, ack):\n        from helper_of_a_test import factor",
        )
        .replace("import ackclock as ac", "import ackclock as ac\nimport helper_of_a_test")
    )
    first = load(inside)
    assert first is not None
    assert load(inside, HELPER.replace("return 1 + inner()", "return 3 + inner()")) != first


def test_values_of_a_module(load: Any) -> None:
    whole = SOURCE.replace(
        "from helper_of_a_test import factor", "import helper_of_a_test"
    ).replace("factor()", "helper_of_a_test.factor()")
    helper = HELPER + "TABLE = {'x': 1}\n"
    first = load(whole, helper)
    assert first is not None
    sys.modules["helper_of_a_test"].TABLE["x"] = 2
    assert identity([sys.modules["class_of_a_test"].Mine]) != first


def test_attributes_with_the_name_of_a_global() -> None:
    """A notebook has many globals. Attributes of objects are not among them."""
    one = made("self.rate = ack.acked", "rate = 3")
    assert _same(one, made("self.rate = ack.acked", "rate = object()"))


def test_results_that_are_not_used_again_are_told(small: dict[str, Any], tmp_path: Path) -> None:
    handle = (i for i in range(10**9))

    class Odd(ac.Controller):
        def on_round(self, report: ac.Report) -> None:
            self.cwnd = 12_000 + 0 * next(handle)

    study = ac.Experiment({**small, "flow": [{"controller": Odd}]})
    with pytest.warns(ac.NotReusedWarning, match="Odd are not used again"):
        first = study.run(tmp_path)
    with pytest.warns(ac.NotReusedWarning):
        again = ac.Experiment({**small, "flow": [{"controller": Odd}]}).run(tmp_path)
    assert again.path != first.path


class Rate(float):
    """A number with a name."""


class Whole(int):
    """A whole number with a name."""


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value


class Money(Decimal):
    """A number of a class that is not the user's."""


def named(value: Any, name: int) -> Any:
    """Return an object with an attribute."""
    value.name = name
    return value


class Inherits(Slotted):
    """Its state is in a slot of its base class."""


def using(value: Any) -> str | None:
    """Return the identity of a controller that uses a value."""

    class Uses(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd = 10_000 * len(str(value))

    return identity([Uses])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Rate(0.5), Rate(0.9)),
        (Whole(1), Whole(2)),
        (type("Text", (str,), {})("a"), type("Text", (str,), {})("b")),
        (Inherits(0.5), Inherits(0.9)),
        (collections.deque([1], maxlen=1), collections.deque([1], maxlen=2)),
        (collections.Counter("a"), collections.Counter("b")),
        (types.SimpleNamespace(a=1), types.SimpleNamespace(a=2)),
        (datetime.timedelta(1), datetime.timedelta(2)),
        (Money("1.5"), Money("2.5")),
        (named(Money("1.5"), 1), named(Money("1.5"), 2)),
    ],
    ids=repr,
)
def test_the_whole_state_of_a_value_counts(one: Any, other: Any) -> None:
    assert using(one) is not None
    assert using(one) == using(copy.deepcopy(one))
    assert using(one) != using(other)


def test_objects_in_arrays_count() -> None:
    numpy = pytest.importorskip("numpy")
    first, second = (numpy.array([Rate(value)], dtype=object) for value in (0.5, 0.9))
    assert None is not using(first) != using(second)
    assert using(first) == using(numpy.array([Rate(0.5)], dtype=object))


def test_state_that_python_does_not_see_is_unknown() -> None:
    # An iterator of C has a position, and nothing tells it.
    assert using(iter([1, 2])) is None


@pytest.mark.parametrize(
    ("first", "body"),
    [
        ("from os import environ", "environ['X']"),
        ("from os import getenv as ge", "ge('X')"),
        ("op = open", "op('x')"),
        ("import functools; op = functools.partial(open, 'x')", "op()"),
        ("import subprocess", "subprocess.run(['x'])"),
        ("import linecache", "linecache.getline('x', 1)"),
        ("import configparser", "configparser.ConfigParser().read('x')"),
        ("import sqlite3", "sqlite3.connect('x')"),
        ("import sys", "sys.argv"),
        ("import builtins", "getattr(builtins, 'open')('x')"),
    ],
)
def test_what_reads_the_outside_is_unknown(first: str, body: str, load: Any) -> None:
    read = SOURCE.replace("self.cwnd = 10_000", f"self.seen = {body}\n        self.cwnd = 10_000")
    assert load(SOURCE.replace("import math", f"{first}\nimport math")) is not None
    assert load(read.replace("import math", f"{first}\nimport math")) is None
    inside = read.replace("self.seen = ", f"{first}\n        self.seen = ")
    assert load(inside) is None


def test_a_module_with_the_name_of_a_standard_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(beta: str) -> str | None:
        (tmp_path / "sched.py").write_text(SOURCE.replace("BETA = 0.5", f"BETA = {beta}"))
        (tmp_path / "helper_of_a_test.py").write_text(HELPER)
        for name in ("sched", "helper_of_a_test"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return identity([importlib.import_module("sched").Mine])

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    first = load("0.5")
    assert None is not first != load("0.9")
    assert load("0.5") == first
    sys.modules.pop("sched", None)


def test_an_annotation_that_makes_a_fraction_counts() -> None:
    def made(kind: str) -> str | None:
        code = f"class Mine(ac.Controller):\n def __init__(self, path, n: {kind} = 7): pass\n on_ack = id"
        names: dict[str, Any] = {"ac": ac, "__name__": __name__}
        exec(code, names)
        return identity([names["Mine"]])

    assert None is not made("int") != made("float")


def test_a_state_that_changes_is_told(small: dict[str, Any], tmp_path: Path) -> None:
    class Counts(ac.Controller):
        made = 0

        def __init__(self, path: ac.PathInfo) -> None:
            type(self).made += 1

        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd = 10_000

    study = ac.Experiment({**small, "flow": [{"controller": Counts}]})
    with pytest.warns(ac.NotReusedWarning, match="Counts: a class attribute or a global changed"):
        study.run(tmp_path)
