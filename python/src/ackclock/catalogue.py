"""Lists of what an experiment may name."""

from __future__ import annotations

import json
from typing import Any

from . import _ackclock
from .tables import Table


def experiments(prefix: str = "") -> list[str]:
    """Return the names of the shipped experiments that begin with this."""
    return [name for name in _ackclock.experiments() if name.startswith(prefix)]


def networks() -> list[str]:
    """Return the names of the shipped networks, for ``link`` and ``network``."""
    return _ackclock.networks()


def controllers() -> Table:
    """Return the names and descriptions of the shipped controllers."""
    return Table(_ackclock.controllers())


def metrics() -> Table:
    """Return the metrics with their units and descriptions."""
    return Table(_ackclock.metrics())


def schema() -> dict[str, Any]:
    """Return the JSON Schema of experiments, which lists every key."""
    loaded: dict[str, Any] = json.loads(_ackclock.schema())
    return loaded
