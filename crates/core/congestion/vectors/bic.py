#!/usr/bin/env python3
"""Vectors of BIC: Xu, Harfoush and Rhee 2004, Linux tcp_bic.c at commits 93987391 of
kernel-patches/bpf and 018da8f4 of torvalds/linux (the first one).

Prints what the tests of src/algorithms/reno/bic.rs state. Windows are in packets, times in ticks of
1 ms. Independent of the code under test.
"""

HZ = 1000

# Packets per ACK, then RTT, number of round trips, and 1 if the first one begins with a loss, 2 if
# with a timeout. The window begins at 10 packets in congestion avoidance.
FLOWS = [
    (1, [(40, 6, 0), (40, 12, 0), (50, 10, 1), (50, 20, 0), (60, 10, 1), (60, 30, 1), (60, 12, 0), (40, 6, 2),
         (40, 10, 0), (55, 12, 1), (55, 12, 1), (20, 20, 0)]),
    (2, [(30, 12, 0), (35, 10, 1), (30, 20, 1), (35, 20, 0), (30, 8, 2), (30, 12, 0)]),
]


class Linux:
    """`first` grows as the first version did: one packet when the counter has reached cnt."""

    def __init__(self, cwnd, wmax=0, ratio=32, smooth=20, first=False):
        self.cwnd, self.cnt, self.now, self.first = cwnd, 0, 0, first
        self.ssthresh = 0
        self.wmax, self.ratio, self.smooth = wmax, ratio, smooth
        self.ca_cnt, self.last = 0, None

    def update(self):
        w = self.cwnd
        if self.last and self.last[0] == w and self.now - self.last[1] <= HZ // 32:
            return
        self.last = (w, self.now)
        if w <= 14:
            self.ca_cnt = w
            return
        if w < self.wmax:
            dist = (self.wmax - w) // 4
            if dist > 16:
                cnt = w // 16
            elif dist <= 1:
                cnt = w * self.smooth // 4
            else:
                cnt = w // dist
        elif w < self.wmax + 4:
            cnt = w * self.smooth // 4
        elif w < self.wmax + 48:
            cnt = w * 3 // (w - self.wmax)
        else:
            cnt = w // 16
        if self.wmax == 0:
            cnt = min(cnt, 20)
        self.ca_cnt = (cnt << 4) // self.ratio or 1

    def ack(self, packets, is_open=True):
        if is_open:
            self.ratio += packets - (self.ratio >> 4)

    def grow(self, packets):
        if self.cwnd < self.ssthresh:
            grown = min(packets, self.ssthresh - self.cwnd)
            self.cwnd, packets = self.cwnd + grown, packets - grown
            if not packets:
                return
        self.update()
        if self.first:
            if self.cnt >= self.ca_cnt:
                self.cwnd, self.cnt = self.cwnd + 1, 0
            else:
                self.cnt += 1
            return
        if self.cnt >= self.ca_cnt:
            self.cwnd, self.cnt = self.cwnd + 1, 0
        self.cnt += packets
        if self.cnt >= self.ca_cnt:
            delta = self.cnt // self.ca_cnt
            self.cnt -= delta * self.ca_cnt
            self.cwnd += delta

    def lose(self, timeout=False):
        w = self.cwnd
        self.wmax = w * (1024 + 819) // 2048 if w < self.wmax else w
        self.ssthresh = max(w >> 1 if w <= 14 else w * 819 // 1024, 2)
        self.cwnd, self.cnt = self.ssthresh, 0
        if timeout:
            self.cwnd, self.wmax, self.ratio, self.last = 1, 0, 32, None


def play(per_ack, phases):
    flow, rows, start = Linux(10), [], 0
    for rtt, rounds, event in phases:
        for i in range(rounds):
            acks, recovers = max(flow.cwnd // per_ack, 1), event and i == 0
            if recovers:
                flow.now = start
                flow.lose(event == 2)
            for j in range(acks):
                flow.now = start + j * rtt // acks
                flow.ack(per_ack, not recovers)
                if not recovers:
                    flow.grow(per_ack)
            start += rtt
        rows.append((flow.cwnd, flow.wmax, flow.ratio))
    return rows


for per_ack, phases in FLOWS:
    print("packets per ACK", per_ack, "(cwnd, wmax, r) after each phase:", play(per_ack, phases))


def search(w, wmax, rounds, first):
    """The window after each round trip, with one packet per ACK."""
    flow, windows = Linux(w, wmax, 16, first=first), [w]
    for _ in range(rounds):
        for _ in range(flow.cwnd):
            flow.now += 1
            flow.grow(1)
        windows.append(flow.cwnd)
    return windows


for first in (False, True):
    print("first version" if first else "today", "without delayed ACKs, per round trip")
    a = search(159, 200, 100, first)
    print("Wmax 200:", a[:11], [(n, a[n]) for n in (20, 40, 60, 80, 100)])
    b = search(799, 1000, 80, first)
    print("Wmax 1000:", b[:11], [(n, b[n]) for n in (10, 20, 60, 80)])
