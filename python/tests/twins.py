"""Controllers of Ackclock, written again in Python: AIMD, Vegas, and one that paces.

Each is compared with the one in Rust, to the last bit. Durations that Rust counts in whole
nanoseconds are whole nanoseconds here as well.
"""

from __future__ import annotations

import ackclock as ac

INFINITE = 2**64 - 1


def nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


class Window:
    """A window in bytes with slow start, loss, timeout and undo: `components/window_rule.rs`."""

    def __init__(self, cwnd: int, packet: int, limit: int | None) -> None:
        self.cwnd, self.ssthresh, self.packet, self.limit = cwnd, INFINITE, packet, limit
        self.counted = 0
        self.saved: tuple[int, int, int] | None = None
        self.is_open = self.timed_out = False

    @property
    def in_slow_start(self) -> bool:
        return self.cwnd < self.ssthresh

    def on_ack(self, ack: ac.Ack) -> None:
        self.timed_out = False
        self.is_open &= ack.in_recovery

    def slow_start(self, growth: int) -> None:
        self.cwnd += growth if self.limit is None else min(growth, self.limit * self.packet)

    def grow_by_window(self, growth: int) -> None:
        self.counted += growth
        if growth > 0 and self.counted >= self.cwnd:
            self.counted -= self.cwnd
            self.cwnd += self.packet

    def on_congestion(self, event: ac.Congestion, reduced: int) -> None:
        is_timeout = event.cause == "timeout"
        repeated = is_timeout and self.timed_out
        if not (is_timeout and self.is_open and self.saved is not None):
            is_undone = event.cause in ("loss", "timeout")
            self.saved = (self.cwnd, self.ssthresh, self.counted) if is_undone else None
        self.is_open, self.timed_out = True, is_timeout
        cwnd, ssthresh = {
            "persistent_congestion": (2 * self.packet, self.ssthresh),
            "timeout": (self.packet, self.ssthresh if repeated else reduced),
        }.get(event.cause, (reduced, reduced))
        self.cwnd, self.ssthresh, self.counted = min(cwnd, self.cwnd), ssthresh, 0

    def on_spurious(self) -> None:
        saved, self.saved = self.saved, None
        self.is_open = self.timed_out = False
        if saved is not None and saved[0] > self.cwnd:
            self.cwnd, self.ssthresh, self.counted = saved


class Base(ac.Controller):
    window: Window

    def show(self) -> None:
        window = self.window
        self.cwnd = window.cwnd
        self.ssthresh = None if window.ssthresh == INFINITE else window.ssthresh

    def on_spurious(self) -> None:
        self.window.on_spurious()
        self.show()


class Aimd(Base):
    """`new-reno` with growth = "ack": RFC 9002 section 7."""

    def __init__(self, path: ac.PathInfo, beta: float = 0.5) -> None:
        self.beta = beta
        self.window = Window(int(self.cwnd), path.max_datagram_size, None)
        self.show()

    def on_ack(self, ack: ac.Ack) -> None:
        window = self.window
        window.on_ack(ack)
        if window.in_slow_start:
            window.slow_start(ack.growth)
        else:
            window.cwnd += window.packet * ack.growth // window.cwnd
        self.show()

    def on_congestion(self, event: ac.Congestion) -> None:
        reduced = max(int(self.window.cwnd * self.beta), 2 * self.window.packet)
        self.window.on_congestion(event, reduced)
        self.show()


class PlainVegas(Base):
    """`vegas` with count = "bytes": Linux tcp_vegas.c."""

    needs = ("packets",)

    def __init__(self, path: ac.PathInfo) -> None:
        packet = path.max_datagram_size
        self.window = Window(min(10 * packet, max(14_600, 2 * packet)), packet, None)
        self.doing_vegas = True
        self.base_rtt = self.min_rtt = INFINITE
        self.samples = self.round_end = self.next_pn = 0
        self.show()

    def enable(self) -> None:
        self.doing_vegas, self.round_end = True, self.next_pn
        self.min_rtt, self.samples = INFINITE, 0

    def on_sent(self, sent: ac.Sent) -> None:
        if sent.bytes_in_flight <= sent.bytes:
            self.next_pn, self.base_rtt = sent.pn, INFINITE
            self.enable()
        self.next_pn = sent.pn + 1

    def reno(self, growth: int, ack: ac.Ack) -> None:
        self.window.on_ack(ack)
        if self.window.in_slow_start:
            self.window.slow_start(growth)
        else:
            self.window.grow_by_window(growth)

    def adjust(self, ack: ac.Ack) -> None:
        window, packet = self.window, self.window.packet
        packets, base, rtt = window.cwnd // packet, max(self.base_rtt, 1), max(self.min_rtt, 1)
        queued, target = packets * max(rtt - base, 0) // base, packets * base // rtt
        if window.in_slow_start:
            if queued <= 1:
                return self.reno(ack.growth, ack)
            window.cwnd = min(window.cwnd, (target + 1) * packet)
            window.ssthresh = min(window.ssthresh, window.cwnd)
        elif queued > 4:
            window.cwnd = max(window.cwnd - packet, 0)
            window.ssthresh = min(window.ssthresh, window.cwnd)
        elif queued < 2 and ack.growth > 0:
            window.cwnd += packet
        window.cwnd = max(window.cwnd, 2 * packet)
        window.ssthresh = max(window.ssthresh, int(window.cwnd * 0.75))
        return self.reno(0, ack)

    def on_ack(self, ack: ac.Ack) -> None:
        if ack.latest_rtt is not None:
            rtt = nanoseconds(ack.latest_rtt)
            self.base_rtt, self.min_rtt = min(self.base_rtt, rtt), min(self.min_rtt, rtt)
            self.samples += 1
        if ack.in_recovery:
            self.doing_vegas = False
            self.reno(ack.growth, ack)
        elif not self.doing_vegas:
            self.enable()
            self.reno(ack.growth, ack)
        elif ack.packets and ack.packets[-1].pn >= self.round_end:
            self.round_end = self.next_pn
            if self.samples > 2:
                self.adjust(ack)
            else:
                self.reno(ack.growth, ack)
            self.min_rtt, self.samples = INFINITE, 0
        else:
            self.reno(ack.growth if self.window.in_slow_start else 0, ack)
        self.show()

    def on_congestion(self, event: ac.Congestion) -> None:
        self.doing_vegas = False
        reduced = max(int(self.window.cwnd * 0.5), 2 * self.window.packet)
        self.window.on_congestion(event, reduced)
        self.show()


class Paced(ac.Controller):
    """`timely`, whose rate follows the gradient of the RTT: Mittal et al. (2015)."""

    shapes_recovery = True
    variables = {"rate": "bit/s"}

    def __init__(
        self,
        path: ac.PathInfo,
        t_low: float = 50e-6,
        t_high: float = 500e-6,
        min_rtt: float = 20e-6,
    ) -> None:
        self.packet = path.max_datagram_size
        self.low, self.high, self.least_rtt = t_low, t_high, min_rtt
        self.smoothed_rtt = 333_000_000
        self.last: tuple[float, float] | None = None
        self.difference, self.falling, self.acked = 0.0, 0, 0
        self.set(10e6)

    def set(self, rate: float) -> None:
        self.rate = max(min(rate, 10e9), 1e6)
        self.cwnd = max(int(2.0 * (self.rate / 8.0 * (self.smoothed_rtt * 1e-9))), 10 * self.packet)
        self.pacing_rate = self.rate

    def on_ack(self, ack: ac.Ack) -> None:
        self.smoothed_rtt = nanoseconds(ack.smoothed_rtt)
        self.acked += ack.acked
        if ack.latest_rtt is not None and self.acked >= 16_384:
            self.acked = 0
            self.on_rtt(ack.now, ack.latest_rtt)
        self.set(self.rate)

    def on_rtt(self, now: float, rtt: float) -> None:
        previous, then = self.last or (rtt, 0.0)
        self.last = (rtt, now)
        self.falling = self.falling + 1 if rtt < previous else 0
        self.difference += 0.02 * (rtt - previous - self.difference)
        passed = (nanoseconds(now) - nanoseconds(then)) * 1e-9
        factor = min(passed / self.least_rtt, 1.0)
        self.set(max(self.next(rtt, factor), self.rate / 2.0))

    def next(self, rtt: float, factor: float) -> float:
        gradient, delta = self.difference / self.least_rtt, 10e6
        if rtt < self.low:
            return self.rate + delta * factor
        if rtt > self.high:
            return self.rate * (1.0 - factor * 0.8 * (1.0 - self.high / rtt))
        if gradient <= 0.0:
            return self.rate + (5.0 if self.falling >= 5 else 1.0) * delta * factor
        return self.rate * (1.0 - 0.8 * gradient)

    def on_congestion(self, event: ac.Congestion) -> None:
        if event.cause in ("persistent_congestion", "timeout"):
            self.set(0.0)
