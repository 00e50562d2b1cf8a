"""Exceptions and warnings of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict


class Problem(TypedDict):
    """A mistake in an experiment: where it is, what is wrong, and what to write instead."""

    file: str
    line: int | None
    key: str
    wrong: str
    right: str


class AckclockError(RuntimeError):
    """Something that cannot be done. The message says why."""


class ExperimentError(AckclockError, ValueError):
    """Mistakes in an experiment or a question.

    Attributes:
        problems: each mistake, as a dict with file, line, key, wrong and right.
    """

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message, problems)
        self.problems = list(problems)

    def __str__(self) -> str:
        return str(self.args[0])


class NotReusedWarning(UserWarning):
    """Results that are not used again, because it is not known what decides them."""


class NotDeterministicWarning(UserWarning):
    """A controller whose runs with the same seed differ."""
