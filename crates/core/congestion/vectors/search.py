#!/usr/bin/env python3
"""Vectors of SEARCH: draft-chung-ccwg-search-09 as in neqo's search.rs at commit 02755daa, draining
as in the authors' tcp_cubic_search4_0.c at commit 087a48d6 of maryam-ataei/TCP_SS_SEARCH_ALG.

Prints what the tests of src/components/slow_start/search.rs state. Times are in microseconds, counts
in bytes of packets of 1200 bytes. Independent of the code under test.
"""

from fractions import Fraction

MDS = 1200
W, EXTRA = 10, 15


class Search:
    """neqo's indices: bins by number since the start, sent bytes one RTT back."""

    def __init__(self):
        self.acked, self.sent, self.acked_bin, self.sent_bin = 0, 0, {}, {}
        self.idx = None

    def on_ack(self, now, rtt, size):
        self.acked += size
        if self.idx is None:
            self.idx, self.duration = 0, rtt * 350 // 1000
            self.end = now + self.duration
            self.acked_bin[0], self.sent_bin[0] = self.acked, self.sent
            return None
        if now <= self.end:
            return None
        passed = (now - self.end) // self.duration + 1
        if passed > W:
            self.idx, self.acked, self.sent = None, 0, 0
            return None
        for i in range(self.idx + 1, self.idx + passed):
            self.acked_bin[i], self.sent_bin[i] = self.acked_bin[self.idx], self.sent_bin[self.idx]
        self.idx += passed
        self.end += passed * self.duration
        self.acked_bin[self.idx], self.sent_bin[self.idx] = self.acked, self.sent
        prev = self.idx - rtt // self.duration
        if prev <= W or self.idx - prev >= EXTRA:
            return None
        fraction = Fraction(rtt % self.duration, self.duration)
        low = self.sent_bin[prev - 1] - self.sent_bin[prev - W - 1]
        high = self.sent_bin[prev] - self.sent_bin[prev - W]
        sent = low * fraction + high * (1 - fraction)
        delivered = self.acked_bin[self.idx] - self.acked_bin[self.idx - W]
        return (sent - delivered) / sent

    def target(self):
        bins = -(-1000 // 350)
        return max(self.acked_bin[self.idx] - self.acked_bin[self.idx - bins], 10 * MDS)


def flow(rtt, spacing, window=10):
    """Slow start without loss over a link that passes a packet per `spacing`. Each ACK sends two
    packets at once. Yields (time of the ACK, RTT, window after it)."""
    free, queue = 0, []
    for _ in range(window):
        free = max(free, 0) + spacing
        queue.append((free + rtt, 0))
    while True:
        now, sent = queue.pop(0)
        window += 1
        yield now, now - sent, window
        for _ in range(2):
            free = max(free, now) + spacing
            queue.append((free + rtt, now))


def search(rtt, spacing):
    s, n, diffs = Search(), 0, []
    s.sent = 10 * MDS
    for now, sample, window in flow(rtt, spacing):
        n += 1
        diff = s.on_ack(now, sample, MDS)
        if diff is not None:
            diffs.append(diff)
            if diff >= Fraction(26, 100):
                break
        s.sent += 2 * MDS
    print(f"rtt {rtt}, a packet per {spacing}: ends with ACK {n} at {now}, window {window} packets,",
          f"target {s.target()} bytes; last differences", [round(float(d), 6) for d in diffs[-3:]],
          "of", len(diffs))


def drain():
    """In flight 200 packets, window 210, target 100: every ACK acknowledges one packet, and the sender
    fills the window."""
    flight, window, target, credit, rows = 200, 210, 100, 0, []
    while window > target:
        flight -= 1
        credit += 1
        allowed, credit = credit // 3, credit % 3
        window = min(max(flight + allowed, target), window)
        flight = max(flight, window)
        rows.append(window)
    print("draining:", rows[:8], "ends after", len(rows), "ACKs")


search(100_000, 1000)
search(100_000, 250)
search(20_000, 500)
search(600_000, 1200)
drain()
