"""Executors: what calls functions elsewhere."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from .tables import _library

#: Seconds that the caller waits for a scheduler to cancel calls, which then goes on.
_CANCELLED_AFTER = 0.1
#: Longest time between two looks at the calls, in seconds.
_LONGEST_PAUSE = 0.1


class Handle(Protocol):
    """A call that was submitted. It may have ``done()`` and ``cancel()`` too."""

    def result(self) -> Any:
        """Wait for the end. Return what the function returned, or raise its exception."""


class Executor(Protocol):
    """Something that calls functions elsewhere.

    Process pools, loky, Dask's client, submitit, ipyparallel and mpi4py have this method.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Handle:
        """Call a function on a worker. It and its arguments can be pickled."""


def workers(executor: Executor) -> int:
    """Return the number of workers; 0 if the executor does not tell it."""
    threads = getattr(executor, "nthreads", None)
    if callable(threads):
        return sum(threads().values())
    return getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None) or 0


def batch(executor: Executor) -> contextlib.AbstractContextManager[Any]:
    """Return submitit's context, in which all parts become one array of jobs."""
    if type(executor).__module__.split(".")[0] != "submitit":
        return contextlib.nullcontext()
    context: contextlib.AbstractContextManager[Any] = executor.batch()  # type: ignore[attr-defined]
    return context


def over(pending: dict[int, Handle]) -> list[int]:
    """Wait until a part is over. Return all that are; of handles without ``done``, the first."""
    pause = 0.001
    while True:
        over = [part for part, handle in pending.items() if getattr(handle, "done", bool)()]
        first, handle = next(iter(pending.items()))
        if over or not hasattr(handle, "done"):
            return over or [first]
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def cancel(handles: Iterable[Handle]) -> None:
    """Cancel parts, without a long wait for the scheduler."""

    def cancel_all() -> None:
        for handle in handles:
            with contextlib.suppress(Exception):
                getattr(handle, "cancel", bool)()

    thread = threading.Thread(target=cancel_all)
    thread.start()
    thread.join(_CANCELLED_AFTER)


class RayExecutor:
    """Remote functions of Ray as an executor.

    Args:
        options: those of ``ray.remote``, such as ``num_cpus``, which is 1, or ``runtime_env``.
    """

    def __init__(self, **options: Any) -> None:
        self._ray, self._options = _library("ray"), {"num_cpus": 1, **options}
        if not self._ray.is_initialized():
            self._ray.init()
        processors = self._ray.cluster_resources().get("CPU", 1)
        #: Number of functions that the cluster calls at once.
        self.num_workers = max(1, int(processors / (self._options["num_cpus"] or 1)))

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Handle:
        """Call a function on a worker of Ray."""
        return _RayHandle(self._ray, self._ray.remote(**self._options)(fn).remote(*args))


class _RayHandle:
    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray, self._reference = ray, reference

    def result(self) -> Any:
        return self._ray.get(self._reference)

    def done(self) -> bool:
        return bool(self._ray.wait([self._reference], timeout=0)[0])

    def cancel(self) -> None:
        self._ray.cancel(self._reference)
