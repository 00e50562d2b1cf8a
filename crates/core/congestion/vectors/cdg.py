#!/usr/bin/env python3
"""Vectors of CDG: Hayes and Armitage 2011, Linux tcp_cdg.c at commit 02a1d6e7.

Prints what the tests of src/algorithms/delay/cdg.rs state. Windows are in packets, times in
microseconds. Independent of the code under test.
"""
from math import exp

print("p:", [(g, round(1 - exp(-42e-6 * g), 5)) for g in (100, 500, 1000, 5000, 10000)])

# RTT, and 1 for a loss, flight by flight. A window is sent, then acknowledged packet by packet. A loss
# comes before the first ACK. After a loss or a backoff the flight is in recovery, which ends with its
# last ACK. No packet of it grows the window any more. Gradients are at most 0, or so large that the
# probability of a backoff is 1.
FLIGHTS = (
    [(100000, 0)] * 3 + [(100000, 1)] + [(100000, 0)] * 3 + [(2000000, 0)] * 3 + [(2000000, 1)]
    + [(100000, 0)] * 4 + [(3000000, 0), (4000000, 0), (5500000, 0)]
    + [(1000000 * n, int(n == 16)) for n in range(6, 21)]
    + [(10000, 0)] * 5 + [(10000, 1), (10000, 0)]
)
WINDOW, INFINITE = 8, 1 << 30


class Cdg:
    def __init__(self):
        self.cwnd, self.ssthresh, self.cnt, self.shadow = 10, INFINITE, 0, 10
        self.rtt = self.prev = (0, 0)
        self.gradients, self.tail, self.sums, self.filled = [(0, 0)] * WINDOW, 0, [0, 0], False
        self.end = self.sent = self.backoffs = self.samples = self.delay_min = 0

    def sample(self, rtt):
        low, high = self.rtt
        self.rtt = (min(low, rtt) if low else rtt, max(high, rtt))

    def grad(self):
        new = (self.rtt[0] - self.prev[0], self.rtt[1] - self.prev[1])
        for side in (0, 1):
            self.sums[side] += new[side] - self.gradients[self.tail][side]
        self.gradients[self.tail] = new
        self.tail = (self.tail + 1) % WINDOW
        grad = self.sums[0] if self.sums[0] > 0 else self.sums[1]
        if not self.filled:
            if self.tail == 0:
                self.filled = True
            else:
                grad = int(grad * WINDOW / self.tail)
        if min(self.sums) <= -32:
            self.backoffs = 0
        return grad

    def avoid(self, ack, grows):
        """Returns whether the window backs off."""
        if self.cwnd < self.ssthresh:
            self.delay_min = min(self.delay_min or self.rtt[0], self.rtt[0] or self.delay_min)
            if self.delay_min and self.samples < 8:
                self.samples += 1
            elif self.delay_min and self.rtt[0] > max(self.delay_min + self.delay_min // 8, 125):
                self.ssthresh = self.cwnd
        if ack > self.end and self.rtt != (0, 0):
            grad = self.grad() if self.prev != (0, 0) else 0
            self.end, self.prev, self.rtt, self.samples = self.sent, self.rtt, (0, 0), 0
            if grad > 0:
                assert exp(-42e-6 * grad) < 1e-9, grad
                self.backoffs += 1
                if self.backoffs <= 5:
                    self.shadow = max(self.shadow, self.cwnd)
                    self.cwnd = self.ssthresh = max(2, self.cwnd * 724 >> 10)
                    self.cnt = 0
                    return True
        if grows:
            before = self.cwnd
            if self.cwnd < self.ssthresh:
                self.cwnd += 1
            else:
                self.cnt += 1
                if self.cnt >= self.cwnd:
                    self.cnt -= self.cwnd
                    self.cwnd += 1
            self.shadow += self.cwnd - before
        return False

    def lose(self):
        self.shadow = min(self.shadow >> 1, self.cwnd)
        self.cwnd = self.ssthresh = max(2, self.shadow, self.cwnd >> 1)
        self.cnt = 0

    def flight(self, rtt, lost):
        first = self.sent
        self.sent += self.cwnd
        if lost:
            self.lose()
        recovering = bool(lost)
        for ack in range(first + 1, self.sent + 1):
            self.sample(rtt)
            if not recovering:
                recovering = self.avoid(ack, True)
            elif ack == self.sent:
                self.end, self.prev, self.rtt = self.sent, self.rtt, (0, 0)
                self.avoid(ack, False)


cdg, rows = Cdg(), []
for rtt, lost in FLIGHTS:
    cdg.flight(rtt, lost)
    rows.append((cdg.cwnd, cdg.shadow))
print("flights:", FLIGHTS)
print("Linux, (cwnd, shadow) after each:", rows)
