"""Controllers in Python: beside those in Rust, and what goes wrong in them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random
import traceback
from pathlib import Path
from typing import Annotated, Any

import pytest
import twins
from conftest import flows

import ackclock as ac

Dict = dict[str, Any]

TWINS = {
    "aimd": ("new-reno", {"growth": "ack", "beta": 0.7}, twins.Aimd, {"beta": 0.7}),
    "vegas": ("vegas", {"count": "bytes"}, twins.PlainVegas, {}),
    "paced": (
        "timely",
        {"t_low": "22 ms", "t_high": "30 ms", "min_rtt": "20 ms"},
        twins.Paced,
        {"t_low": 0.022, "t_high": 0.03, "min_rtt": 0.02},
    ),
}


@pytest.mark.parametrize("transport", ["quic", "tcp"])
@pytest.mark.parametrize("loss", ["0 %", "0.3 %"])
@pytest.mark.parametrize("twin", TWINS)
def test_twins_have_the_same_metrics_to_the_last_bit(twin: str, loss: str, transport: str) -> None:
    rust, parameters, python, own = TWINS[twin]

    def run(controller: Any, **values: Any) -> ac.Run:
        flow = {"controller": ac.use(controller, label="x", **values), "transport": transport}
        return ac.Experiment(
            {
                "title": "twins",
                "duration": "8 s",
                "series": "100 ms",
                "link": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 BDP", "loss": loss},
                "flow": [flow, {"controller": "cubic", "start": "3 s", "transport": transport}],
            }
        ).simulate()

    a, b = run(rust, **parameters), run(python, **own)
    assert a.metrics == b.metrics
    assert flows(a) == flows(b)
    for column in ("cwnd_bytes", "smoothed_rtt_ms", "bytes_in_flight", "drops"):
        assert a.series[column] == b.series[column], column
    assert a.metrics["goodput"] > 1


def test_slow_calls_see_the_same_as_every_ack(small: Dict) -> None:
    """The sums of rounds and intervals are those of the ACKs in them."""
    seen: dict[str, list[Any]] = {"ack": [], "round": [], "interval": []}

    class All(ac.Controller):
        interval = "50 ms"

        def on_ack(self, ack: ac.Ack) -> None:
            seen["ack"].append(ack)
            self.cwnd = 40_000

        def on_round(self, report: ac.Report) -> None:
            seen["round"].append(report)

        def on_interval(self, report: ac.Report) -> None:
            seen["interval"].append(report)

    run = ac.Experiment({**small, "flow": [{"controller": All}]}).simulate()
    assert run.metrics["goodput"] > 5
    assert [report.now for report in seen["interval"]] == pytest.approx(
        [0.05 * i for i in range(1, len(seen["interval"]) + 1)]
    )
    assert len(seen["interval"]) >= 39
    # A class with rounds and intervals has one account for both: nothing is counted twice.
    reports = sorted(seen["round"] + seen["interval"], key=lambda report: report.now)
    total = sum(report.acked for report in reports)
    last = reports[-1].now
    assert total == sum(ack.acked for ack in seen["ack"] if ack.now <= last)
    assert sum(report.acks for report in reports) == sum(ack.now <= last for ack in seen["ack"])
    rtts = [report.mean_rtt for report in reports if report.mean_rtt is not None]
    assert all(0.02 <= rtt < 0.06 for rtt in rtts)


def test_gradient_is_that_of_least_squares() -> None:
    seen: list[tuple[list[ac.Ack], ac.Report]] = []

    class Slope(ac.Controller):
        interval = 0.1

        def __init__(self, path: ac.PathInfo) -> None:
            self.acks: list[ac.Ack] = []

        def on_ack(self, ack: ac.Ack) -> None:
            self.acks.append(ack)
            self.cwnd += 500

        def on_interval(self, report: ac.Report) -> None:
            seen.append((self.acks, report))
            self.acks = []

    ac.Experiment(
        {
            "title": "slope",
            "duration": "2 s",
            "link": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "20 BDP"},
            "flow": [{"controller": Slope}],
        }
    ).simulate()
    assert len(seen) > 10
    for acks, report in seen[1:]:
        begin = report.now - report.duration
        points = [(a.now - begin, a.latest_rtt) for a in acks if a.latest_rtt is not None]
        n = len(points)
        mean_t, mean_r = sum(t for t, _ in points) / n, sum(r for _, r in points) / n
        spread = sum((t - mean_t) ** 2 for t, _ in points)
        slope = sum((t - mean_t) * (r - mean_r) for t, r in points) / spread
        assert report.rtt_gradient == pytest.approx(slope, rel=1e-6, abs=1e-9)
        assert report.mean_rtt == pytest.approx(mean_r)
        assert report.latest_rtt == points[-1][1]


METHODS = [
    "__init__",
    "on_ack",
    "on_round",
    "on_interval",
    "on_sent",
    "on_lost",
    "on_congestion",
    "on_timer",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("on", ["sim", "stack"])
def test_an_exception_in_any_callback_shows_the_users_line(
    method: str, on: str, small: Dict
) -> None:
    def fail(self: Any, *_: Any) -> None:
        raise LookupError("as tested")  # the line that is looked for

    def on_ack(self: Any, ack: ac.Ack) -> None:
        self.cwnd += ack.growth

    def init(self: Any, path: ac.PathInfo) -> None:
        self.wake = 0.5

    body = {
        "__init__": init,
        "on_ack": on_ack,
        method: fail,
        "interval": "50 ms" if method == "on_interval" else None,
    }
    failing = type("Failing", (ac.Controller,), body)
    flow = {"controller": failing, "transport": "quic"}
    study = ac.Experiment({**small, "flow": [flow, {"controller": "cubic", "transport": "quic"}]})
    with pytest.raises(LookupError) as raised:
        study.simulate(on=on)
    lines = [frame.line for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert any(line and "the line that is looked for" in line for line in lines)


def test_an_exception_while_copied(small: Dict) -> None:
    class Once(ac.Controller):
        def __init__(self, path: ac.PathInfo) -> None:
            self.generator = (i for i in range(3))

        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd += ack.growth

    # The suite copies controllers, and a generator cannot be copied.
    with pytest.raises(TypeError, match="generator"):
        ac.conformance(Once)


@pytest.mark.parametrize(
    ("value", "message"),
    [(-1, "cwnd"), (float("nan"), "cwnd"), (1e30, "cwnd"), ("x", "must be real number|float")],
)
def test_outputs_that_no_controller_may_have(value: Any, message: str, small: Dict) -> None:
    class Wrong(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd = value

    with pytest.raises((ValueError, TypeError), match=message):
        ac.Experiment({**small, "flow": [{"controller": Wrong}]}).simulate()


def test_outputs_of_other_types(small: Dict) -> None:
    with pytest.raises(ValueError, match="pacing_rate"):
        ac.Controller().pacing_rate = 0.0
    controller = ac.Controller(ac.PathInfo(1200))
    assert (controller.cwnd, controller.pacing_rate, controller.ssthresh) == (12_000, None, 0)
    controller.cwnd = 1500.75
    controller.ssthresh = None
    assert (controller.cwnd, controller.ssthresh) == (1500.75, None)
    controller.cwnd = 7
    assert isinstance(controller.cwnd, int)


def test_a_wrong_answer(small: Dict) -> None:
    class Wrong(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> Any:
            return "loss"

    with pytest.raises(ValueError, match="return None"):
        ac.Experiment({**small, "flow": [{"controller": Wrong}]}).simulate()


def test_a_controller_may_ask_for_an_event(small: Dict) -> None:
    causes: list[str] = []

    class Delay(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> Any:
            self.cwnd += ack.growth
            queueing = ack.smoothed_rtt - (ack.min_rtt or 0)
            return "delay" if queueing > 0.005 else None

        def on_congestion(self, event: ac.Congestion) -> None:
            causes.append(event.cause)
            self.cwnd = max(self.cwnd / 2, 2400)

    run = ac.Experiment({**small, "flow": [{"controller": Delay}]}).simulate()
    assert causes.count("delay") >= 3
    assert run.metrics["reductions"] == len(causes)


def test_timers(small: Dict) -> None:
    times: list[float] = []

    class Timed(ac.Controller):
        def __init__(self, path: ac.PathInfo) -> None:
            self.wake = 0.1

        def on_timer(self, now: float) -> None:
            assert self.wake is None
            times.append(now)
            self.wake = now + 0.25

    ac.Experiment({**small, "flow": [{"controller": Timed}]}).simulate()
    assert times == pytest.approx([0.1 + 0.25 * i for i in range(len(times))])
    assert len(times) == 8


def test_variables_are_columns(small: Dict) -> None:
    class Shown(ac.Controller):
        variables = {"threshold": "bytes", "flag": ""}

        def __init__(self, path: ac.PathInfo) -> None:
            self.threshold: float | None = None
            self.flag = True

        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd = 50_000
            if ack.now > 1:
                self.threshold = ack.now

    run = ac.Experiment({**small, "series": "100 ms", "flow": [{"controller": Shown}]}).simulate()
    assert run.series.units["threshold"] == "bytes"
    values = run.series["threshold"]
    assert values[0] is None
    assert values[-1] == pytest.approx(2, abs=0.15)
    assert set(run.series["flag"]) == {1.0}

    class Missing(Shown):
        variables = {"nowhere": ""}

    with pytest.raises(AttributeError, match="nowhere"):
        ac.Experiment({**small, "series": "100 ms", "flow": [{"controller": Missing}]}).simulate()


class WithParameters(ac.Controller):
    """One of each kind.

    More text.
    """

    def __init__(
        self,
        path: ac.PathInfo,
        gain: Annotated[float, ac.Range(0, 1, "gain of the window")] = 1,
        packets: Annotated[int, ac.Range(low=1)] = 10,
        mode: str = "slow",
        is_fast: bool = False,
    ) -> None:
        assert isinstance(gain, float)
        self.values = (gain, packets, mode, is_fast)
        seen.append(self.values)

    def on_ack(self, ack: ac.Ack) -> None:
        self.cwnd = 30_000


seen: list[tuple[Any, ...]] = []


def test_parameters(small: Dict) -> None:
    used = ac.use(WithParameters, gain=0.25, packets=3, mode="fast", is_fast=True)
    ac.Experiment({**small, "flow": [{"controller": used}]}).simulate()
    assert seen[-1] == (0.25, 3, "fast", True)
    ac.Experiment({**small, "flow": [{"controller": WithParameters}]}).simulate()
    assert seen[-1] == (1.0, 10, "slow", False)
    both = [ac.use(WithParameters, gain=gain, label=f"{gain}") for gain in (0.5, 1)]
    swept = {**small, "vary": {"flow.controller": both}}
    assert len(ac.Experiment(swept).cases) == 2


@pytest.mark.parametrize(
    ("parameters", "key", "wrong"),
    [
        ({"gain": 1.5}, "gain", "`1.5` is out of range"),
        ({"packets": 0}, "packets", "`0` is out of range"),
        ({"packets": 1.5}, "packets", "must be a whole number"),
        ({"mode": 3}, "mode", "must be"),
        ({"is_fast": "yes"}, "is-fast", "must be true or false"),
        ({"gian": 1}, "gian", "unknown"),
    ],
)
def test_wrong_parameters(parameters: Dict, key: str, wrong: str, small: Dict) -> None:
    with pytest.raises(ac.ExperimentError) as raised:
        ac.Experiment({**small, "flow": [{"controller": ac.use(WithParameters, **parameters)}]})
    (problem,) = raised.value.problems
    assert problem["key"].endswith(key)
    assert wrong in problem["wrong"]
    assert problem["line"] is None


def test_classes_that_are_no_controllers(small: Dict) -> None:
    def use(body: Dict, name: str = "Odd") -> None:
        ac.Experiment({**small, "flow": [{"controller": type(name, (ac.Controller,), body)}]})

    handler = {"on_ack": lambda self, ack: None}
    with pytest.raises(TypeError, match="overrides none of on_ack"):
        use({})
    with pytest.raises(TypeError, match="`interval` and `on_interval` need one another"):
        use({"on_interval": lambda self, report: None})
    with pytest.raises(TypeError, match="`interval` and `on_interval` need one another"):
        use({**handler, "interval": "1 s"})
    with pytest.raises(ValueError, match="interval"):
        use({"on_interval": lambda self, report: None, "interval": "1 parsec"})
    with pytest.raises(ValueError, match="a shipped controller has this name"):
        use(handler, "Cubic")
    with pytest.raises(ValueError, match="unknown: money"):
        use({**handler, "needs": ("money",)})
    with pytest.raises(TypeError, match="gain needs a default"):
        use({**handler, "__init__": lambda self, path, gain: None})
    two = [type("Odd", (ac.Controller,), handler) for _ in range(2)]
    with pytest.raises(ValueError, match="two controllers have the name Odd"):
        ac.Experiment({**small, "flow": [{"controller": one} for one in two]})


def test_conformance() -> None:
    class Modest(ac.Controller):
        def __init__(self, path: ac.PathInfo) -> None:
            self.packet = path.max_datagram_size

        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd += self.packet * ack.growth / self.cwnd

        def on_congestion(self, event: ac.Congestion) -> None:
            self.cwnd = max(self.cwnd / 2, 2 * self.packet)

        def on_path_change(self, path: ac.PathInfo) -> None:
            self.packet = path.max_datagram_size

    assert ac.conformance(Modest).passes

    class Greedy(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd += 3 * ack.acked

    verdict = ac.conformance(Greedy)
    assert not verdict.passes
    assert "grew" in str(verdict)


class Lottery(ac.Controller):
    """A controller that its seed does not determine."""

    def on_ack(self, ack: ac.Ack) -> None:
        self.cwnd = random.Random().randint(20_000, 40_000)


def test_what_the_seed_does_not_determine_is_told(small: Dict, tmp_path: Any) -> None:
    study = ac.Experiment({**small, "flow": [{"controller": Lottery}]})
    with pytest.warns(ac.NotDeterministicWarning, match="with the same seed"):
        study.run(tmp_path)


def test_copies_and_pickles() -> None:
    controller = twins.Aimd(ac.PathInfo(1200))
    controller.cwnd, controller.pacing_rate = 5000.5, 1e6
    for other in (copy.deepcopy(controller), pickle.loads(pickle.dumps(controller))):
        assert (other.cwnd, other.pacing_rate, other.beta) == (5000.5, 1e6, 0.5)
    study = ac.Experiment(
        {
            "title": "t",
            "duration": "1 s",
            "link": {"rate": "1 Mbit/s", "delay": "1 ms", "queue": "9 BDP"},
            "flow": [{"controller": twins.Aimd}],
        }
    )
    again = pickle.loads(pickle.dumps(study.set("link.rate", "2 Mbit/s")))
    assert again.simulate().metrics["goodput"] > 1.5


def test_each_new_controller_of_a_study_is_run_twice(small: Dict, tmp_path: Any) -> None:
    class Second(Lottery):
        pass

    study = ac.Experiment({**small, "vary": {"flow.controller": ["cubic", Second]}})
    with pytest.warns(ac.NotDeterministicWarning, match="Second"):
        study.run(tmp_path)

    class Third(Lottery):
        pass

    link = "rate=5 Mbit/s rtt=20 ms"
    with pytest.warns(ac.NotDeterministicWarning, match="Third"):
        ac.compare("cubic", Third, link=link, time="6 s", repeat=1, out=tmp_path)


def test_outputs_that_a_class_hides(small: Dict) -> None:
    class Hidden(ac.Controller):
        cwnd = 120_000  # type: ignore[assignment]

        def on_ack(self, ack: ac.Ack) -> None:
            pass

    with pytest.raises(TypeError, match=r"Hidden\.cwnd is an attribute of the class"):
        ac.Experiment({**small, "flow": [{"controller": Hidden}]})


def test_a_window_that_would_fill_the_memory(small: Dict) -> None:
    class Doubling(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd *= 2

    with pytest.raises(ValueError, match="cwnd"):
        ac.Experiment({**small, "flow": [{"controller": Doubling}]}).simulate()


def test_runs_inside_a_controller_are_refused(small: Dict) -> None:
    class Nested(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> None:
            ac.Experiment(small).simulate()

    with pytest.raises(ac.AckclockError, match="a controller cannot start runs of its own"):
        ac.Experiment({**small, "flow": [{"controller": Nested}]}).simulate()


def test_a_base_may_be_initialised(small: Dict) -> None:
    class Polite(ac.Controller):
        def __init__(self, path: ac.PathInfo, packets: int = 7) -> None:
            super().__init__(path)
            self.cwnd = packets * path.max_datagram_size

        def on_ack(self, ack: ac.Ack) -> None:
            pass

    assert (
        ac.Experiment({**small, "flow": [{"controller": Polite}]}).simulate().metrics["goodput"] > 1
    )


def test_a_class_that_is_defined_again_takes_the_place(small: Dict) -> None:
    def define(packets: int) -> type[ac.Controller]:
        class Again(ac.Controller):
            def on_ack(self, ack: ac.Ack) -> None:
                self.cwnd = packets * 1200

        return Again

    study = ac.Experiment({**small, "flow": [{"controller": define(2)}]})
    more = study.set("flow.controller", define(4))
    assert more.simulate().metrics["goodput"] > 1.5 * study.simulate().metrics["goodput"]


@pytest.mark.parametrize("name", ["flow", "cwnd_bytes", "Odd Name", "a\0b", ""])
def test_variables_with_names_that_are_taken(name: str, small: Dict) -> None:
    shown = type(
        "Shown", (ac.Controller,), {"on_ack": lambda self, ack: None, "variables": {name: ""}}
    )
    with pytest.raises(ValueError, match="variables"):
        ac.Experiment({**small, "flow": [{"controller": shown}]})


def test_classes_are_freed() -> None:
    import gc
    import weakref

    def use() -> weakref.ref[type]:
        class Big(ac.Controller):
            def on_ack(self, ack: ac.Ack) -> None:
                pass

        ac.Experiment(
            {
                "title": "t",
                "duration": "1 s",
                "link": {"rate": "1 Mbit/s", "delay": "1 ms", "queue": "20 BDP"},
                "flow": [{"controller": Big}],
            }
        ).simulate()
        return weakref.ref(Big)

    known = use()
    gc.collect()
    assert known() is None


class Window(ac.Controller):
    """A constant window."""

    def on_ack(self, ack: ac.Ack) -> None:
        self.cwnd = 10_000


def test_a_mixin_must_not_hide_an_output() -> None:
    class Defaults:
        cwnd = 50_000

    class Mixed(Defaults, Window):
        pass

    with pytest.raises(TypeError, match=r"Mixed\.cwnd is an attribute of the class"):
        ac.conformance(Mixed)


def test_the_first_parameter_is_the_path() -> None:
    class Mode(Window):
        def __init__(self, mode: str = "aimd") -> None:
            pass

    @dataclasses.dataclass(eq=False)
    class Fields(Window):
        beta: float = 0.5

    @dataclasses.dataclass(eq=False)
    class Right(Window):
        path: ac.PathInfo
        beta: float = 0.5

    for wrong in (Mode, Fields):
        with pytest.raises(TypeError, match="the first parameter is the path"):
            ac.conformance(wrong)
    assert "Right" in str(ac.conformance(Right))


@pytest.mark.parametrize("word", ["name", "label"])
def test_words_of_experiments_are_no_parameters(word: str) -> None:
    made = type("Mine", (Window,), {})
    names: dict[str, Any] = {}
    exec(f"def __init__(self, path, {word}='x'): pass", names)
    made.__init__ = names["__init__"]  # type: ignore[misc]
    with pytest.raises(TypeError, match=f"{word} is a word of experiments"):
        ac.conformance(made)
    with pytest.raises(TypeError, match="the controller has its name"):
        ac.use("cubic", name="bbr3")


def test_a_misspelt_method_is_told() -> None:
    class Mine(Window):
        def on_loss(self, event: ac.Lost) -> None:
            """Never."""

        def on_rtt(self, rtt: float) -> None:
            """Help other methods."""

    with pytest.raises(TypeError, match=r"on_loss would never be called; did you mean on_lost\?"):
        ac.conformance(Mine)
    del Mine.on_loss
    assert ac.conformance(Mine).rules


def test_copies_keep_signals_and_slots() -> None:
    class Keeps(Window):
        __slots__ = ("last", "path")

        def __init__(self, path: ac.PathInfo) -> None:
            self.path = path

        def on_ack(self, ack: ac.Ack) -> None:
            self.last = ack
            self.cwnd = 10 * self.path.max_datagram_size

    kept = Keeps(ac.PathInfo())
    assert copy.deepcopy(kept).path is kept.path
    assert ac.conformance(Keeps).rules


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"variables": ["gain"]}, "variables: write names with units"),
        ({"name": 5}, "name: 5 is no text"),
        ({"needs": "packet"}, "needs: unknown: packet;"),
    ],
)
def test_attributes_of_a_wrong_kind(attributes: Dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ac.conformance(type("Mine", (Window,), attributes))
    for wrong in ("cubic", ac.use("cubic"), Window(ac.PathInfo())):
        with pytest.raises(TypeError, match="is no subclass"):
            ac.conformance(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give a subclass of"):
        ac.use(ac.use("cubic"))  # type: ignore[arg-type]


class Throws(ac.Controller):
    """Throws a coin in one mode."""

    def __init__(self, path: ac.PathInfo, mode: str = "constant") -> None:
        self.mode = mode

    def on_ack(self, ack: ac.Ack) -> None:
        self.cwnd = random.randrange(5_000, 50_000) if self.mode == "random" else 10_000


def test_each_use_is_run_twice(small: Dict, tmp_path: Path) -> None:
    plain, wild = ac.use(Throws), ac.use(Throws, mode="random")
    ac.compare(plain, "cubic", quick=True, out=tmp_path, link="rate=2 Mbit/s rtt=20 ms")
    with pytest.warns(ac.NotDeterministicWarning, match="Throws"):
        ac.Experiment({**small, "flow": [{"controller": wild}]}).run(tmp_path)
    # Another identity, so that nothing is known of it.
    Throws.unused = 1  # type: ignore[attr-defined]
    flows = [{"controller": ac.use(Throws, label="a")}, {"controller": wild}]
    with pytest.warns(ac.NotDeterministicWarning, match="Throws"):
        ac.Experiment({**small, "flow": flows}).run(tmp_path)
    with pytest.warns(ac.NotDeterministicWarning, match="Throws"):
        ac.compare(ac.use(Throws, mode="random", label="b"), "cubic", quick=True, out=tmp_path)
