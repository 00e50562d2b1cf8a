"""Progress of long calls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

#: A function of the experiment's name, the share that is done, finished runs and all runs.
Progress = Callable[[str, float, int, int], None]

#: Seconds before a line appears.
_QUIET = 2.0


class Line:
    """A line on standard error, which appears after two seconds and is removed at the end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._width = 0

    def __call__(self, name: str, share: float, done: int, runs: int) -> None:
        """Show the progress."""
        passed = time.monotonic() - self._began
        if runs == 0 or passed < _QUIET:
            return
        left = f", about {passed / share - passed:.0f} s left" if share > 0.01 else ""
        text = f"{name}: {done} of {runs} runs, {share:.0%}{left}"
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def close(self) -> None:
        """Remove the line."""
        if self._width:
            print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)


class Shown:
    """The progress that a call shows, as a context.

    True is a line, False is nothing, and None is a line where somebody sees it: on a terminal and
    in a notebook.
    """

    def __init__(self, wanted: bool | Progress | None) -> None:
        is_seen = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        wanted = is_seen if wanted is None else wanted
        self._line = Line() if wanted is True else None
        self._function = None if isinstance(wanted, bool) else wanted

    def __enter__(self) -> Progress | None:
        return self._function or self._line

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()
