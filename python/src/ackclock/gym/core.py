"""What all environments share: episodes, spaces, and how experiments of agents are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .. import _ackclock
from ..errors import ExperimentError
from ..experiment import Experiment
from .interval import COLUMNS, RUNNING, Interval, Numbers
from .networks import Base, Drawn, Networks, Source

if TYPE_CHECKING:
    from .._ackclock import _Start

Action: TypeAlias = Literal["window", "rate", "both", "none"]
Floats: TypeAlias = NDArray[np.float32]

#: Ratios that an agent sees of an interval, in the order of an observation.
#:
#: ``rtt_ratio``: mean RTT over the smallest so far. ``rtt_gradient``: slope of the RTT, seconds per
#: second. ``send_ratio``: bytes sent over bytes acknowledged. ``loss_share``: lost bytes among
#: those acknowledged or lost. ``throughput_ratio``: throughput over the largest of an interval so
#: far. ``window_ratio``: window over that largest throughput times the smallest RTT.
#: ``interval_ratio``: length of the interval over the smallest RTT. Each is clipped to the bounds
#: of the observation space. Intervals before the first are zeros.
FEATURES = tuple(name for name, _, _ in _ackclock.View.features())
#: Types of actions and observations, and of rows.
_FLOAT, _DOUBLE = np.dtype("<f4"), np.dtype("<f8")


def observation_space(history: int) -> gymnasium.Space[Floats]:
    """Return the space of observations: the ratios of several intervals, the newest last."""
    _, low, high = zip(*_ackclock.View.features(), strict=True)
    ends = [np.tile(np.asarray(end, np.float32), history) for end in (low, high)]
    box: Any = gymnasium.spaces.Box(ends[0], ends[1], dtype=np.float32)
    return cast("gymnasium.Space[Floats]", box)


def action_space(action: Action) -> gymnasium.Space[Floats]:
    """Return the space of actions: each number from -1 to 1 multiplies by 2 to its power."""
    box: Any = gymnasium.spaces.Box(-1.0, 1.0, (2 if action == "both" else 1,), np.float32)
    return cast("gymnasium.Space[Floats]", box)


def seconds(interval: float | str) -> str:
    """Return a length of time as a text with its unit."""
    return f"{interval} s" if isinstance(interval, (int, float)) else interval


def experiment(
    source: str | Mapping[str, Any] | Experiment,
    *,
    agents: Sequence[int] = (0,),
    competitors: Sequence[Any] | None,
    controller: Any = None,
    duration: str | None,
    transfer: str | None = None,
    starts: Sequence[str] | None = None,
) -> Base:
    """Return the experiment of an environment. The agents' flows of the dumbbell are its first."""
    if len(set(agents)) != len(agents):
        message = f"agents: a flow has one agent; {list(agents)} names one twice"
        raise ExperimentError(message)
    if not (isinstance(source, str) and source == "dumbbell"):
        given = {"competitors": competitors, "controller": controller, "transfer": transfer}
        wrong = [name for name, value in {**given, "starts": starts}.items() if value is not None]
        if wrong:
            message = f"{', '.join(wrong)}: an experiment has its own flows; leave this out"
            raise ExperimentError(message)
        if isinstance(source, Mapping):
            content = {**source, **({} if duration is None else {"duration": duration})}
            return Base(Experiment(content), content)
        made = source if isinstance(source, Experiment) else Experiment(source)
        return Base(made if duration is None else made.set("duration", duration))
    if list(agents) != list(range(len(agents))):
        message = (
            f"agents: the first flows of the dumbbell have agents, not {list(agents)}; give an "
            "experiment for others"
        )
        raise ExperimentError(message)
    if starts is not None and len(starts) != len(agents):
        message = f"starts: {len(starts)} times for {len(agents)} agents"
        raise ExperimentError(message)
    flows: list[dict[str, Any]] = []
    for number in agents:
        label = "agent" if len(agents) == 1 else f"agent {number}"
        flow = {"controller": "cubic" if controller is None else controller, "label": label}
        flow |= {"transfer": transfer} if transfer is not None else {}
        flows.append(flow | ({"start": starts[number]} if starts is not None else {}))
    flows += [{"controller": name} for name in (("cubic",) if competitors is None else competitors)]
    dumbbell = {
        "title": "Agents on a dumbbell",
        "duration": "30 s" if duration is None else duration,
        "link": {"rate": "20 Mbit/s", "delay": "10 ms", "queue": "1 BDP"},
        "flow": flows,
    }
    return Base(Experiment(dumbbell), dumbbell)


class Core:
    """Episodes of one or several agents.

    Args:
        base: flows and duration.
        networks: networks of the episodes.
        interval: length of an interval.
        flows: numbers of the agents' flows.
        action: output that an action changes.
        history: intervals in an observation.
        case: number of the experiment's case.
        count: number of episodes at once.
        jobs: threads; by default all processors.
    """

    def __init__(
        self,
        base: Base,
        networks: Networks,
        interval: float | str,
        flows: Sequence[int],
        action: Action,
        history: int,
        case: int,
        count: int = 1,
        jobs: int | None = None,
    ) -> None:
        self.source = Source(base, networks)
        self._base, self._case = base, case
        shape = (count, len(flows))
        self._observed = (*shape, history * len(FEATURES))
        size = 2 if action == "both" else 1
        #: Shapes of actions: a row for each agent. One agent needs no row.
        self._acted: list[tuple[int, ...]] = [(count * len(flows), size)]
        if shape == (1, 1):
            self._acted = [(size,), *self._acted] if size > 1 else [(size,), (), *self._acted]
        self._described = (*shape, len(COLUMNS))
        self._episodes = _ackclock.Episodes(
            seconds(interval), list(flows), action, history, count, jobs
        )

    def begin(
        self, number: int, random: np.random.Generator, options: Mapping[str, Any] | None
    ) -> tuple[_Start, dict[str, Any]]:
        """Draw an episode. Return how it starts, and its description."""
        source = self.source
        if options is not None and "network" in options:
            source = Source(self._base, options["network"])
        drawn: Drawn = source.draw(random)
        seed = int(random.integers(2**63))
        start = (number, drawn.experiment._inner, self._case, list(drawn.changes), seed)
        return start, {"seed": seed, "network": drawn.describe()}

    def start(self, starts: Sequence[_Start]) -> tuple[Floats, Numbers]:
        """Begin episodes. Return observations and rows by episode and agent."""
        return self._advance(starts, None)

    def act(self, actions: Any, starts: Sequence[_Start] = ()) -> tuple[Floats, Numbers]:
        """Play an interval with these actions; some episodes begin instead."""
        if actions is None:
            message = "action: None is no action; give numbers from -1 to 1"
            raise ValueError(message)
        array = np.asarray(actions, _FLOAT)
        if array.shape not in self._acted:
            message = f"action: its shape is {array.shape}, not {self._acted[0]}"
            raise ValueError(message)
        return self._advance(starts, array.tobytes())

    def _advance(self, starts: Sequence[_Start], given: bytes | None) -> tuple[Floats, Numbers]:
        seen, rows = self._episodes.advance(starts or None, given)
        return (
            np.ndarray(self._observed, _FLOAT, seen),
            np.ndarray(self._described, _DOUBLE, rows),
        )

    def check_begun(self, rows: Numbers, numbers: Iterable[int]) -> None:
        """Refuse episodes that are over before an agent can act."""
        for number in numbers:
            if not (rows[number, :, -1] == RUNNING).any():
                message = (
                    "the flow of the agent ends within its first interval, or takes no part in the "
                    "run; use a shorter interval, a longer transfer or an earlier start"
                )
                raise ExperimentError(message)

    def is_running(self, number: int = 0) -> bool:
        """Report whether an episode goes on."""
        return self._episodes.is_running(number)

    def metrics(self, number: int = 0) -> dict[str, float]:
        """Return the metrics of an episode that is over."""
        metrics = self._episodes.metrics(number)
        if metrics is None:
            message = "metrics: an agent's episode is not over"
            raise RuntimeError(message)
        return metrics


__all__ = [
    "FEATURES", "Action", "Core", "Floats", "Interval", "action_space", "experiment",
    "observation_space", "seconds",
]  # fmt: skip
