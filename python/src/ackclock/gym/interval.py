"""Intervals of agents, in physical units, for rewards."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _ackclock

Numbers: TypeAlias = NDArray[np.float64]

#: Columns of a row.
COLUMNS = tuple(_ackclock.Episodes.columns())
_AT = {name: number for number, name in enumerate(COLUMNS)}

#: States of an agent, the last column.
AWAY, RUNNING, COMPLETE, OVER = range(4)


class Interval:
    """The last interval of one or several agents.

    Each attribute is a number for one agent, and an array for several, or for several environments.

    A sender knows all but ``queue``, ``drops``, ``delivered``, ``link_rate`` and ``base_rtt``.
    """

    def __init__(self, rows: Numbers) -> None:
        self._rows = rows

    def _column(self, name: str) -> Numbers:
        column: Numbers = self._rows.T[_AT[name]]
        return column

    @property
    def now(self) -> Numbers:
        """Time of the end, seconds."""
        return self._column("now")

    @property
    def duration(self) -> Numbers:
        """Length, seconds."""
        return self._column("duration")

    @property
    def sent(self) -> Numbers:
        """Bytes sent."""
        return self._column("sent")

    @property
    def acked(self) -> Numbers:
        """Bytes acknowledged."""
        return self._column("acked")

    @property
    def lost(self) -> Numbers:
        """Bytes declared lost."""
        return self._column("lost")

    @property
    def ce(self) -> Numbers:
        """Packets reported as CE-marked."""
        return self._column("ce")

    @property
    def acks(self) -> Numbers:
        """Number of ACKs."""
        return self._column("acks")

    @property
    def events(self) -> Numbers:
        """Number of congestion events."""
        return self._column("events")

    @property
    def mean_rtt(self) -> Numbers:
        """Mean RTT, seconds. Without samples that before; at first the length of an interval."""
        return self._column("mean_rtt")

    @property
    def latest_rtt(self) -> Numbers:
        """Newest RTT sample, seconds; without samples as ``mean_rtt``."""
        return self._column("latest_rtt")

    @property
    def min_rtt(self) -> Numbers:
        """Smallest RTT so far, seconds; without samples as ``mean_rtt``."""
        return self._column("min_rtt")

    @property
    def rtt_gradient(self) -> Numbers:
        """Slope of the RTT samples (least squares), seconds per second."""
        return self._column("rtt_gradient")

    @property
    def delivery_rate(self) -> Numbers:
        """Largest delivery-rate sample, bit/s; 0 without any."""
        return self._column("delivery_rate")

    @property
    def bytes_in_flight(self) -> Numbers:
        """Bytes in flight at the end."""
        return self._column("bytes_in_flight")

    @property
    def app_limited(self) -> Numbers:
        """1 if the application limited the sender at the last ACK, or else 0."""
        return self._column("app_limited")

    @property
    def cwnd(self) -> Numbers:
        """Window during the interval, bytes."""
        return self._column("cwnd")

    @property
    def pacing_rate(self) -> Numbers:
        """Rate of the pacer during the interval, bit/s; 0 while nothing is paced."""
        return self._column("pacing_rate")

    @property
    def packet(self) -> Numbers:
        """Size of a full packet as counted in the window, bytes."""
        return self._column("packet")

    @property
    def queue(self) -> Numbers:
        """Bytes in the queues of the forward links at the end. No sender knows them."""
        return self._column("queue")

    @property
    def drops(self) -> Numbers:
        """Packets that the forward links have dropped since the start. No sender knows them."""
        return self._column("drops")

    @property
    def delivered(self) -> Numbers:
        """Stream bytes that have arrived since the start. No sender knows them."""
        return self._column("delivered")

    @property
    def link_rate(self) -> Numbers:
        """Nominal rate of the slowest forward link, bit/s. No sender knows it."""
        return self._column("link_rate")

    @property
    def base_rtt(self) -> Numbers:
        """RTT of the path without queues, seconds. No sender knows it."""
        return self._column("base_rtt")

    @property
    def throughput(self) -> Numbers:
        """Acknowledged bit/s."""
        return 8.0 * self.acked / self.duration

    @property
    def sending_rate(self) -> Numbers:
        """Sent bit/s."""
        return 8.0 * self.sent / self.duration

    @property
    def loss(self) -> Numbers:
        """Share of lost bytes among those acknowledged or lost, 0 to 1."""
        return self.lost / np.maximum(self.acked + self.lost, 1.0)
