"""An environment with several agents on one link, by the rules of PettingZoo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.utils import seeding

from ..experiment import Experiment
from .core import Action, Core, Floats, action_space, experiment, observation_space
from .interval import AWAY, COLUMNS, COMPLETE, OVER, RUNNING, Interval, Numbers
from .networks import Networks
from .rewards import Reward, power


def parallel_env(
    source: str | Mapping[str, Any] | Experiment = "dumbbell",
    *,
    agents: int | Sequence[int] = 4,
    interval: float | str = "30 ms",
    competitors: Sequence[Any] | None = (),
    networks: Networks = None,
    action: Action = "window",
    reward: Reward = power,
    history: int = 10,
    duration: str | None = None,
    transfer: str | None = None,
    starts: Sequence[str] | None = None,
    case: int = 0,
) -> Any:
    """Return a ``pettingzoo.ParallelEnv`` whose agents share the network.

    An agent takes part from the end of its first interval on, and until its transfer is complete or
    the time is over. The last information of a run has its ``metrics``, with Jain's index
    ``jain``. ``pip install ackclock[agents]``.

    Args:
        source: as in `make`. The agents are the first flows.
        agents: number of agents, or numbers of their flows.
        interval: time between two actions.
        competitors: controllers of further flows of the dumbbell; by default none.
        networks: networks of the episodes, as in `make`.
        action: output that an action changes.
        reward: function of an `Interval`, whose attributes have a number for each agent that takes
            part. It may reward fairness.
        history: number of intervals in an observation.
        duration: length of an episode.
        transfer: bytes of each agent's flow of the dumbbell.
        starts: start of each agent's flow of the dumbbell: ``["0 s", "5 s"]``.
        case: number of the experiment's case.
    """
    try:
        from pettingzoo import ParallelEnv  # type: ignore[import-untyped, unused-ignore]
    except ImportError as why:
        message = "ackclock.gym.parallel_env needs pettingzoo: pip install ackclock[agents]"
        raise ImportError(message) from why

    numbers = list(range(agents)) if isinstance(agents, int) else list(agents)
    is_dumbbell = isinstance(source, str) and source == "dumbbell"
    base = experiment(
        source,
        agents=numbers,
        competitors=competitors if is_dumbbell else (competitors or None),
        duration=duration,
        transfer=transfer,
        starts=starts,
    )

    class Agents(ParallelEnv):  # type: ignore[misc, type-arg, unused-ignore]
        """Agents on one link."""

        metadata: ClassVar[dict[str, Any]] = {"name": "ackclock_v0", "render_modes": []}
        render_mode = None

        def __init__(self) -> None:
            self._core = Core(base, networks, interval, numbers, action, history, case)
            self.possible_agents = [f"agent_{number}" for number in range(len(numbers))]
            self.agents: list[str] = []
            names = self.possible_agents
            self.observation_spaces = {name: observation_space(history) for name in names}
            self.action_spaces = {name: action_space(action) for name in names}
            self._random = seeding.np_random(None)[0]

        def observation_space(self, agent: str) -> Any:
            """Return the space of an agent's observations."""
            return self.observation_spaces[agent]

        def action_space(self, agent: str) -> Any:
            """Return the space of an agent's actions."""
            return self.action_spaces[agent]

        def reset(
            self, seed: int | None = None, options: Mapping[str, Any] | None = None
        ) -> tuple[dict[str, Floats], dict[str, dict[str, Any]]]:
            """Begin an episode, and play until the first interval of an agent ends."""
            if seed is not None:
                self._random = seeding.np_random(seed)[0]
            start, begun = self._core.begin(0, self._random, options)
            observations, rows = self._core.start([start])
            self._core.check_begun(rows, [0])
            present = self._present(rows[0])
            self.agents = present
            infos = {name: info | begun for name, info in self._infos(rows[0], present).items()}
            return self._by_name(observations[0], present), infos

        def step(
            self, actions: Mapping[str, Any]
        ) -> tuple[
            dict[str, Floats],
            dict[str, float],
            dict[str, bool],
            dict[str, bool],
            dict[str, dict[str, Any]],
        ]:
            """Play an interval. An agent without an action keeps its window and rate."""
            observations, rows = self._core.act(self._actions(actions))
            while not (rows[0, :, -1] == RUNNING).any() and self._core.is_running():
                # An environment without agents is over, so it waits for the next one.
                later, coming = self._core.act(self._actions({}))
                is_new = (rows[0, :, -1] == AWAY)[:, np.newaxis]
                observations[0] = np.where(is_new, later[0], observations[0])
                rows[0] = np.where(is_new, coming[0], rows[0])
            states = dict(zip(self.possible_agents, rows[0, :, -1].tolist(), strict=True))
            present = self._present(rows[0])
            earned = np.broadcast_to(
                reward(Interval(rows[0, rows[0, :, -1] != AWAY])), len(present)
            )
            rewards = dict(zip(present, earned.tolist(), strict=True))
            # An agent that has just come has not acted.
            rewards = {name: rewards[name] if name in self.agents else 0.0 for name in present}
            terminated = {name: states[name] == COMPLETE for name in present}
            truncated = {name: states[name] == OVER for name in present}
            infos = self._infos(rows[0], present)
            if not self._core.is_running():
                metrics = self._core.metrics()
                infos = {name: info | {"metrics": metrics} for name, info in infos.items()}
            self.agents = [name for name in present if not (terminated[name] or truncated[name])]
            return self._by_name(observations[0], present), rewards, terminated, truncated, infos

        def metrics(self) -> dict[str, float]:
            """Return the metrics of the run, once its agents are over."""
            return self._core.metrics()

        def render(self) -> None:
            """Show nothing."""

        def close(self) -> None:
            """Do nothing."""

        def _actions(self, actions: Mapping[str, Any]) -> Any:
            none = np.zeros(2 if action == "both" else 1, np.float32)
            unknown = sorted(set(actions) - set(self.possible_agents))
            if unknown:
                message = f"actions: no agent {unknown[0]}; agents: {self.possible_agents}"
                raise ValueError(message)
            given = {name: np.ravel(actions.get(name, none)) for name in self.possible_agents}
            for name, one in given.items():
                if one.shape != none.shape:
                    message = f"action of {name}: its shape is {one.shape}, not {none.shape}"
                    raise ValueError(message)
            return np.stack(list(given.values()))

        def _present(self, rows: Numbers) -> list[str]:
            pairs = zip(self.possible_agents, rows[:, -1].tolist(), strict=True)
            return [name for name, state in pairs if state != AWAY]

        def _by_name(self, observations: Floats, present: list[str]) -> dict[str, Floats]:
            pairs = zip(self.possible_agents, observations, strict=True)
            return {name: observation for name, observation in pairs if name in present}

        def _infos(self, rows: Numbers, present: list[str]) -> dict[str, dict[str, Any]]:
            infos: dict[str, dict[str, Any]] = {}
            for name, row in zip(self.possible_agents, rows.tolist(), strict=True):
                if name in present:
                    infos[name] = dict(zip(COLUMNS[:-1], row, strict=False))
            return infos

    return Agents()
