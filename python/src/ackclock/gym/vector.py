"""Many environments in one call, on all processors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..experiment import Experiment
from .core import Action, Core, Floats, action_space, experiment, observation_space
from .interval import COLUMNS, COMPLETE, RUNNING, Interval, Numbers
from .networks import Networks
from .rewards import Reward, power


class VectorEnv(gymnasium.vector.VectorEnv[Floats, Floats, NDArray[Any]]):
    """Environments with one agent each, stepped together without Python's lock.

    Episodes that end begin anew in the next step, which ignores their action
    (``AutoresetMode.NEXT_STEP``). Environment ``i`` is that of `make` with the seed ``seed + i``,
    bit for bit. The pool of threads survives a fork.

    Args:
        source: as in `make`.
        num_envs: number of environments.
        interval: time between two actions.
        competitors: controllers of the other flows of the dumbbell.
        networks: networks of the episodes, drawn for each.
        action: output that an action changes.
        reward: function of an `Interval`, whose attributes have a number for each environment.
        history: number of intervals in an observation.
        duration: length of an episode.
        transfer: bytes of the agent's flow of the dumbbell.
        controller: controller of the agent's flow of the dumbbell, for ``action="none"``.
        agent: number of the agent's flow, from 0.
        case: number of the experiment's case.
        jobs: number of threads; by default all processors.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": [],
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        source: str | Mapping[str, Any] | Experiment = "dumbbell",
        num_envs: int = 64,
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
        jobs: int | None = None,
    ) -> None:
        base = experiment(
            source,
            agents=[agent],
            competitors=competitors,
            controller=controller,
            duration=duration,
            transfer=transfer,
        )
        self._core = Core(base, networks, interval, [agent], action, history, case, num_envs, jobs)
        self._reward = reward
        self.num_envs = num_envs
        self.single_observation_space = observation_space(history)
        self.single_action_space = action_space(action)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._randoms: list[np.random.Generator | None] = [None] * num_envs
        self._ended = np.ones(num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode in each environment.

        Args:
            seed: seed of the first environment, whose successors count on; or one for each.
            options: ``{"network": ...}`` replaces the networks for these episodes.
        """
        if seed is None or isinstance(seed, (int, np.integer)):
            first = None if seed is None else int(seed)
            given = [None if first is None else first + i for i in range(self.num_envs)]
        else:
            first, given = None, list(seed)
        super().reset(seed=first)
        if len(given) != self.num_envs:
            message = f"{len(given)} seeds for {self.num_envs} environments"
            raise ValueError(message)
        for number, one in enumerate(given):
            if one is not None or self._randoms[number] is None:
                self._randoms[number] = seeding.np_random(one)[0]
        starts, begun = self._begin(range(self.num_envs), options)
        observations, rows = self._core.start(starts)
        self._core.check_begun(rows, range(self.num_envs))
        self._ended = np.zeros(self.num_envs, np.bool_)
        return observations[:, 0], self._described(rows[:, 0]) | begun

    def step(
        self, actions: Floats
    ) -> tuple[Floats, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Play an interval in each environment. Episodes that have ended begin anew instead."""
        if not self._ended[0] and not self._core.is_running(0):
            message = "the last step failed; call reset"
            raise gymnasium.error.ResetNeeded(message)
        restarted = self._ended
        starts, begun = self._begin(np.flatnonzero(restarted), None)
        observations, rows = self._core.act(actions, starts)
        self._core.check_begun(rows, np.flatnonzero(restarted))
        rows = rows[:, 0]
        rewards = np.where(restarted, 0.0, self._reward(Interval(rows)))
        self._ended = rows[:, -1] != RUNNING
        terminated = (rows[:, -1] == COMPLETE) & ~restarted
        truncated = self._ended & ~terminated & ~restarted
        info = self._described(rows) | begun
        if self._ended.any():
            core = self._core
            ended = terminated | truncated
            over = ended & [not core.is_running(number) for number in range(self.num_envs)]
            metrics = [core.metrics(i) if is_over else None for i, is_over in enumerate(over)]
            info |= _masked("metrics", metrics, over)
        return observations[:, 0], rewards, terminated, truncated, info

    def _begin(
        self, numbers: Any, options: Mapping[str, Any] | None
    ) -> tuple[list[Any], dict[str, Any]]:
        starts: list[Any] = []
        if not len(numbers):
            return starts, {}
        seeds, networks = [0] * self.num_envs, [None] * self.num_envs
        mask = np.zeros(self.num_envs, np.bool_)
        for number in numbers:
            random = self._randoms[number]
            if random is None:
                message = "call reset first"
                raise gymnasium.error.ResetNeeded(message)
            start, begun = self._core.begin(int(number), random, options)
            starts.append(start)
            seeds[number], networks[number], mask[number] = begun["seed"], begun["network"], True
        return starts, _masked("seed", seeds, mask, np.int64) | _masked("network", networks, mask)

    def _described(self, rows: Numbers) -> dict[str, Any]:
        """Return the columns as gymnasium has them: with a mask for each."""
        mask = np.ones(self.num_envs, np.bool_)
        info: dict[str, Any] = dict(zip(COLUMNS[:-1], rows.T, strict=False))
        return info | {f"_{name}": mask for name in COLUMNS[:-1]}

    def metrics(self, number: int) -> dict[str, float]:
        """Return the metrics of a run, once its agent is over. Other flows end theirs first."""
        return self._core.metrics(number)


def _masked(
    name: str, values: list[Any], mask: NDArray[Any], dtype: Any = object
) -> dict[str, Any]:
    array = np.empty(len(values), dtype)
    array[:] = values
    return {name: array, f"_{name}": mask}
