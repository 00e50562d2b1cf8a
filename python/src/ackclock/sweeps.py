"""Sweeps: a study in parts, on whatever executes them."""

from __future__ import annotations

import itertools
import os
import uuid
from collections import Counter
from pathlib import Path

from . import executors
from . import parts as _parts
from .errors import AckclockError
from .executors import Executor, Handle, RayExecutor
from .experiment import Experiment
from .progress import Progress, Shown
from .results import Results

__all__ = ["Executor", "Handle", "RayExecutor", "sweep"]

#: Parts for each worker, so that none is idle for long while the last ones end.
_PARTS_PER_WORKER = 4
#: Parts where the number of workers is not known.
_PARTS = 64
#: Most tries of a part whose worker is lost.
_TRIES = 3


def sweep(
    study: Experiment,
    *,
    executor: Executor | None = None,
    parts: int | None = None,
    out: str | os.PathLike[str] = "results",
    shared: bool = True,
    progress: bool | Progress | None = None,
) -> Results:
    """Make all runs of an experiment in parts, on the workers of an executor.

    The results are the same bytes as those of `Experiment.run`. Runs that exist are not made again.
    After an interruption the same call goes on from there. A part whose worker is lost is submitted
    again, at most twice.

    Args:
        study: the experiment.
        executor: whatever has ``submit``. Without one, all processors of this machine are used.
        parts: number of parts, each for one core. By default four for each worker, or 64 where
            the executor does not tell the number of workers.
        out: folder of the results.
        shared: whether all workers reach ``out`` by the same path. Otherwise each part sends the
            files of its runs back to the caller.
        progress: whether to show the progress, or a function that gets it.

    Raises:
        AckclockError: workers that are lost again and again, or a folder that they do not share.
        Exception: the exception of a controller. Its cause shows the line on the worker.

    >>> import ackclock as ac
    >>> from concurrent.futures import ProcessPoolExecutor
    >>> study = ac.Experiment("quic-dc/table-2")
    >>> with ProcessPoolExecutor() as pool:  # doctest: +SKIP
    ...     results = ac.sweep(study, executor=pool)
    """
    if parts is not None and parts < 1:
        message = f"parts is {parts}; write 1 or more"
        raise ValueError(message)
    if executor is not None and (
        isinstance(executor, type) or not callable(getattr(executor, "submit", None))
    ):
        message = f"executor: {executor!r} has no `submit`; use one like ProcessPoolExecutor()"
        raise TypeError(message)
    if executor is None:
        return study.run(out, progress=progress)
    study._check_determinism()
    folder, done, runs = study._found(out)
    if folder is None:
        parts = min(runs, parts or _PARTS_PER_WORKER * executors.workers(executor) or _PARTS)
        work = _Work(study, executor, (parts, runs), Path(out).absolute(), shared)
        kept = work.kept()
        missing = work.missing(kept, done)
        with Shown(progress) as shown:
            work.make(missing, shown)
        folder, _, _ = study._found(out)
        if folder is None and missing and work.kept() <= kept:
            message = (
                f"the workers made their parts, but no run of them is in {out}. Let all machines "
                "share this folder, or set shared=False. Use the same Ackclock on all of them."
            )
            raise AckclockError(message)
    # Damaged runs are made again here.
    if folder is None:
        return study.run(out, progress=progress)
    study._complete()
    return Results(folder)


class _Work:
    """The parts of a study on an executor."""

    def __init__(
        self,
        study: Experiment,
        executor: Executor,
        numbers: tuple[int, int],
        out: Path,
        shared: bool,
    ) -> None:
        self._name, self._task = study.name, _parts.pickled(study)
        self._parts, self._runs = numbers
        self._executor, self._out, self._shared = executor, out, shared
        self._sweep, self._calls = uuid.uuid4().hex, itertools.count()
        self._pending: dict[int, Handle] = {}
        self._lost: Counter[int] = Counter()

    def _numbers(self, part: int) -> range:
        return range(part, self._runs, self._parts)

    def kept(self) -> set[Path]:
        """Return the files of runs of unfinished studies with this name."""
        return set((self._out / self._name).glob(".runs-*/*.run"))

    def missing(self, kept: set[Path], done: int) -> list[int]:
        """Return the parts with runs that are not there, from 0. `done` runs are."""
        numbers: dict[Path, set[int]] = {}
        for file in kept:
            numbers.setdefault(file.parent, set()).add(int(file.stem))
        these = [known for known in numbers.values() if len(known) == done]
        # Of several studies, nobody knows here whose runs these are. The workers do.
        there = these[0] if len(these) == 1 else set()
        return [part for part in range(self._parts) if not there.issuperset(self._numbers(part))]

    def make(self, parts: list[int], shown: Progress | None) -> None:
        """Make parts, and store what they send back."""
        over = self._runs - sum(len(self._numbers(part)) for part in parts)
        try:
            with executors.batch(self._executor):
                for part in parts:
                    self._submit(part)
            while self._pending:
                over += sum(len(self._numbers(part)) for part in self._collected())
                if shown is not None:
                    shown(self._name, over / self._runs, over, self._runs)
        except BaseException:
            executors.cancel(list(self._pending.values()))
            raise

    def _submit(self, part: int, lost: Exception | None = None) -> None:
        out = str(self._out) if self._shared else None
        call = (self._sweep, next(self._calls))
        try:
            self._pending[part] = self._executor.submit(
                _parts.make, self._task, out, part, self._parts, call
            )
        except Exception as why:
            raise self._ended("the executor takes no more parts", lost or why) from why

    def _collected(self) -> list[int]:
        """Wait until parts are over, and submit lost ones again. Return those that were made."""
        made: list[int] = []
        lost: dict[int, Exception] = {}
        failed: list[_parts.Failure] = []
        for part in executors.over(self._pending):
            try:
                answer = self._pending.pop(part).result()
            except Exception as why:
                lost[part] = why
                continue
            if isinstance(answer, _parts.Failure):
                failed.append(answer)
            else:
                _parts.store(self._out, answer)
                made.append(part)
        # All that came back is stored before anything is raised.
        for failure in failed:
            failure.throw()
        for part, reason in lost.items():
            self._lost[part] += 1
            if self._lost[part] == _TRIES:
                what = f"part {part} of {self._parts} was lost {_TRIES} times"
                raise self._ended(what, reason) from reason
            self._submit(part, reason)
        return made

    def _ended(self, what: str, why: Exception) -> AckclockError:
        return AckclockError(
            f"{what}: {type(why).__name__}: {why}\n"
            f"Finished runs are kept in {self._out}. Create a new executor and call the same line "
            "again: it makes only the runs that are missing. If the system killed a worker for its "
            "memory, use fewer workers."
        )
