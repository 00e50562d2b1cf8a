from __future__ import annotations

from typing import Any

import pytest

import ackclock as ac


@pytest.fixture
def small() -> dict[str, Any]:
    """Return an experiment of a second."""
    return {
        "title": "A second",
        "duration": "2 s",
        "link": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 BDP"},
        "flow": [{"controller": "cubic"}],
    }


def flows(run: ac.Run) -> dict[str, list[Any]]:
    """Return the metrics of all flows, without their names."""
    return {
        name: run.flows[name]
        for name in run.flows.columns
        if name not in ("row", "label", "algorithm")
    }
