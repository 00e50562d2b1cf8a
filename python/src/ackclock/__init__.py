"""A congestion-control laboratory for QUIC and TCP.

>>> import ackclock as ac
>>> run = ac.Experiment({
...     "title": "CUBIC beside BBR", "duration": "10 s", "series": "100 ms",
...     "link": {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "1 BDP"},
...     "flow": [{"controller": "cubic"}, {"controller": "bbr3"}],
... }).simulate()
>>> 15 < run.metrics["total_goodput"] < 20
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._ackclock import __version__
from .answers import Answer, analyse, compare, conform, diff, replay
from .catalogue import controllers, experiments, metrics, networks, schema
from .controllers import (
    Ack,
    AckedPacket,
    Conformance,
    Congestion,
    Controller,
    Idle,
    Lost,
    LostPacket,
    PathInfo,
    Range,
    RateSample,
    Report,
    Sent,
    Used,
    conformance,
    use,
)
from .errors import (
    AckclockError,
    ExperimentError,
    NotDeterministicWarning,
    NotReusedWarning,
    Problem,
)
from .experiment import Experiment
from .results import Results, Run, read
from .tables import Table

if _TYPE_CHECKING:
    from .sweeps import RayExecutor as RayExecutor
    from .sweeps import sweep as sweep

__all__ = [
    "Ack",
    "AckclockError",
    "AckedPacket",
    "Answer",
    "Conformance",
    "Congestion",
    "Controller",
    "Experiment",
    "ExperimentError",
    "Idle",
    "Lost",
    "LostPacket",
    "NotDeterministicWarning",
    "NotReusedWarning",
    "PathInfo",
    "Problem",
    "Range",
    "RateSample",
    "Report",
    "Results",
    "Run",
    "Sent",
    "Table",
    "Used",
    "__version__",
    "analyse",
    "compare",
    "conform",
    "conformance",
    "controllers",
    "diff",
    "experiments",
    "metrics",
    "networks",
    "read",
    "replay",
    "schema",
    "use",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted([*globals(), "RayExecutor", "gym", "sweep", "sweeps"])


def __getattr__(name: str) -> _Any:
    # What needs other packages, or is used by few, is imported when it is used.
    if name in ("gym", "sweeps"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    if name in ("sweep", "RayExecutor"):
        from . import sweeps

        return getattr(sweeps, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
