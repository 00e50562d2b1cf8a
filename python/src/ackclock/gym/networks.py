"""Networks of episodes: named, listed or drawn from ranges."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..errors import ExperimentError
from ..experiment import Experiment

#: A shipped network by name, ranges of keys, an experiment, or a list of these.
Networks: TypeAlias = "str | Mapping[str, Any] | Experiment | Sequence[Any] | None"

#: Multiples of the smallest unit, for ranges whose ends have different units.
_UNITS = {
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0,
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9,
}  # fmt: skip


@dataclass(frozen=True)
class Base:
    """Flows and duration of an environment.

    Attributes:
        experiment: the experiment.
        content: the dict that it was made of, if there is one.
    """

    experiment: Experiment
    content: Mapping[str, Any] | None = None

    def over(self, network: str) -> Experiment:
        """Return the experiment over a shipped network."""
        if self.content is None:
            message = f"networks: {network!r} cannot replace the links of a file; give a dict"
            raise ExperimentError(message)
        links = ("link", "reverse", "network")
        kept = {key: value for key, value in self.content.items() if key not in links}
        return Experiment({**kept, "network": network})


@dataclass(frozen=True)
class Drawn:
    """The network of an episode.

    Attributes:
        experiment: the experiment.
        changes: keys with other values.
        name: name of a shipped network or of another experiment.
    """

    experiment: Experiment
    changes: tuple[tuple[str, str], ...] = ()
    name: str | None = None

    def describe(self) -> dict[str, str]:
        """Return what was drawn: values of keys, or the name of a network."""
        return {"network": self.name} if self.name is not None else dict(self.changes)


class Source:
    """Draws the networks of episodes.

    Args:
        base: flows and duration.
        networks: the networks; None for that of the experiment.
    """

    def __init__(self, base: Base, networks: Networks) -> None:
        self._base = base
        self._choices: list[Drawn | _Ranges] = []
        is_list = isinstance(networks, Sequence) and not isinstance(networks, str)
        for network in list(networks) if is_list else [networks]:  # type: ignore[arg-type]
            self._choices.append(self._choice(network))
        if not self._choices:
            message = "networks: an empty list; name a network, or leave it out"
            raise ExperimentError(message)

    def _choice(self, network: Any) -> Drawn | _Ranges:
        if network is None:
            return Drawn(self._base.experiment)
        if isinstance(network, Experiment):
            return Drawn(network, name=network.name)
        if isinstance(network, str):
            return Drawn(self._base.over(network), name=network)
        if isinstance(network, Mapping):
            return _Ranges(self._base.experiment, network)
        message = f"networks: {network!r} is no name, no dict of ranges and no Experiment"
        raise ExperimentError(message)

    def draw(self, random: np.random.Generator) -> Drawn:
        """Draw the network of an episode."""
        choice = self._choices[int(random.integers(len(self._choices)))]
        return choice.draw(random) if isinstance(choice, _Ranges) else choice


class _Ranges:
    """Keys with ranges: a tuple of two ends is drawn log-uniformly, a list is drawn from."""

    def __init__(self, base: Experiment, ranges: Mapping[str, Any]) -> None:
        self._base = base
        self._keys: list[tuple[str, tuple[float, float, str] | list[str]]] = []
        for key, given in ranges.items():
            if isinstance(given, tuple) and len(given) == 2:
                self._keys.append((key, _ends(key, *given)))
            elif isinstance(given, list) and given:
                self._keys.append((key, [str(value) for value in given]))
            else:
                message = f"networks: {key}: write a tuple of two ends, or a list of values"
                raise ExperimentError(message)
        # Mistakes are told at once, not in the middle of the training.
        for end in (0, 1):
            ends = [(key, _end(given, end)) for key, given in self._keys]
            base.set(dict(ends))

    def draw(self, random: np.random.Generator) -> Drawn:
        """Draw all keys, in their order."""
        return Drawn(self._base, tuple((key, _value(random, given)) for key, given in self._keys))


def _value(random: np.random.Generator, given: tuple[float, float, str] | list[str]) -> str:
    if isinstance(given, list):
        return given[int(random.integers(len(given)))]
    low, high, unit = given
    value = math.exp(random.uniform(math.log(low), math.log(high)))
    return f"{value:.6g} {unit}".strip()


def _end(given: tuple[float, float, str] | list[str], end: int) -> str:
    """Return the first or the last value of a range or a list."""
    if isinstance(given, list):
        return given[-end]
    return f"{given[end]:.6g} {given[2]}".strip()


def _ends(key: str, low: Any, high: Any) -> tuple[float, float, str]:
    """Return the ends of a range in the unit of the first."""
    parts = [re.fullmatch(r"\s*([0-9.eE+-]+?)\s*([^0-9\s.].*)?", str(end)) for end in (low, high)]
    try:
        (first, unit), (last, other) = [(float(part[1]), part[2] or "") for part in parts if part]
    except ValueError:
        message = f"networks: {key}: {low!r} to {high!r} are no numbers with a unit"
        raise ExperimentError(message) from None
    if unit != other:
        if unit not in _UNITS or other not in _UNITS:
            message = f"networks: {key}: write both ends in the same unit, not {unit} and {other}"
            raise ExperimentError(message)
        last *= _UNITS[other] / _UNITS[unit]
    if not 0 < first <= last:
        message = f"networks: {key}: {low!r} to {high!r}: the first is above 0, and not the larger"
        raise ExperimentError(message)
    return first, last, unit
