"""An environment with one agent, by the rules of gymnasium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium

from ..experiment import Experiment
from .core import Action, Core, Floats, action_space, experiment, observation_space
from .interval import COLUMNS, COMPLETE, RUNNING, Interval, Numbers
from .networks import Networks
from .rewards import Reward, power


class CongestionEnv(gymnasium.Env[Floats, Floats]):
    """One flow whose controller is an agent. `make` describes the arguments."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        source: str | Mapping[str, Any] | Experiment = "dumbbell",
        *,
        interval: float | str = "30 ms",
        competitors: Sequence[Any] | None = None,
        networks: Networks = None,
        action: Action = "window",
        reward: Reward = power,
        history: int = 10,
        duration: str | None = None,
        transfer: str | None = None,
        controller: Any = None,
        agent: int = 0,
        case: int = 0,
    ) -> None:
        base = experiment(
            source,
            agents=[agent],
            competitors=competitors,
            controller=controller,
            duration=duration,
            transfer=transfer,
        )
        self._core = Core(base, networks, interval, [agent], action, history, case)
        self._reward = reward
        self._ended = True
        self.observation_space = observation_space(history)
        self.action_space = action_space(action)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode, and play its first interval with the initial window.

        Args:
            seed: seed of all that follows: networks and runs.
            options: ``{"network": ...}`` replaces the networks for this episode.
        """
        super().reset(seed=seed)
        start, info = self._core.begin(0, self.np_random, options)
        observations, rows = self._core.start([start])
        self._core.check_begun(rows, [0])
        self._ended = False
        return observations[0, 0], {**_described(rows), **info}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Play an interval with this action.

        Returns:
            The observation, the reward, whether the transfer is complete (``terminated``), whether
            the time is over (``truncated``), and the interval in physical units. The last one has
            the ``metrics`` of a run that is over. While other flows go on, see `metrics`.
        """
        if self._ended:
            message = "the episode is over; call reset"
            raise gymnasium.error.ResetNeeded(message)
        observations, rows = self._core.act(action)
        row = rows[0, 0]
        reward = float(self._reward(Interval(row)))
        state = row[-1]
        info = _described(rows)
        self._ended = bool(state != RUNNING)
        if self._ended and not self._core.is_running():
            info["metrics"] = self._core.metrics()
        terminated = bool(state == COMPLETE)
        return observations[0, 0], reward, terminated, self._ended and not terminated, info

    def metrics(self) -> dict[str, float]:
        """Return the metrics of the run, once its agent is over. Other flows end theirs first."""
        return self._core.metrics()


def _described(rows: Numbers) -> dict[str, Any]:
    described: dict[str, Any] = dict(zip(COLUMNS, rows[0, 0].tolist(), strict=True))
    del described["state"]
    return described


def make(
    source: str | Mapping[str, Any] | Experiment = "dumbbell",
    *,
    interval: float | str = "30 ms",
    competitors: Sequence[Any] | None = None,
    networks: Networks = None,
    action: Action = "window",
    reward: Reward = power,
    history: int = 10,
    duration: str | None = None,
    transfer: str | None = None,
    controller: Any = None,
    agent: int = 0,
    case: int = 0,
) -> CongestionEnv:
    """Return an environment for `gymnasium` with one agent.

    An action multiplies: 2 to its power, -1 to 1, times the window, the rate, or both. It acts from
    the beginning of the next interval on (a nanosecond after the report). The window is at least 2
    packets. It is at most 8 times what the path has delivered in a round trip, or 100 packets if
    that is more. A chosen rate is paced exactly; with ``rate``, the window is 2 x rate x RTT, or an
    initial window.

    Args:
        source: ``dumbbell``: a link of 20 Mbit/s, 20 ms RTT and a queue of a BDP. Or a shipped
            experiment, a file, a dict or an `Experiment`, whose flow ``agent`` gets the agent.
        interval: time between two actions.
        competitors: controllers of the other flows of the dumbbell; by default one CUBIC.
        networks: networks of the episodes: the name of a shipped one ("lte"), ranges such as
            ``{"link.rate": ("1 Mbit/s", "100 Mbit/s")}``, an `Experiment`, or a list of these, from
            which each episode draws one. A tuple of two is drawn log-uniformly; a list in its place
            is drawn from.
        action: output that an action changes: ``window``, ``rate``, ``both``, or ``none``: the flow
            keeps its own controller, and rewards and observations are those of it.
        reward: function of an `Interval`.
        history: number of intervals in an observation.
        duration: length of an episode; by default 30 s, or that of the experiment.
        transfer: bytes of the agent's flow of the dumbbell; without it, unlimited data.
        controller: controller of the agent's flow of the dumbbell, for ``action="none"``.
        agent: number of the agent's flow, from 0.
        case: number of the experiment's case.
    """
    return CongestionEnv(
        source,
        interval=interval,
        competitors=competitors,
        networks=networks,
        action=action,
        reward=reward,
        history=history,
        duration=duration,
        transfer=transfer,
        controller=controller,
        agent=agent,
        case=case,
    )
