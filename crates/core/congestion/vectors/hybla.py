#!/usr/bin/env python3
"""Vectors of TCP Hybla: Caini and Firrincieli 2004, Linux tcp_hybla.c at commit cc9ae575 of
kernel-patches/bpf.

Prints what the tests of src/algorithms/reno/hybla.rs state. Windows are in packets, times in
microseconds. Independent of the code under test.
"""

RTT0 = 25000
FRACTIONS = [128, 139, 152, 165, 181, 197, 215, 234]

# Smoothed RTT, number of round trips, and 1 if the first one begins with a loss. The window begins
# at 3 packets in slow start with this ssthresh.
FLOWS = [
    (300, [(100000, 3, 0), (110000, 4, 1), (100000, 6, 0), (90000, 3, 0), (120000, 4, 1), (90000, 9, 1)]),
    (40, [(31000, 9, 0), (29000, 8, 1), (34000, 12, 0), (28123, 10, 1), (60000, 14, 0)]),
    (60, [(20000, 8, 0), (24000, 30, 0), (12000, 9, 1), (24999, 40, 0)]),
    (20000, [(612000, 1, 0), (600000, 2, 1), (587500, 2, 1), (700000, 3, 0)]),
]


class Linux:
    def __init__(self, ssthresh):
        self.cwnd, self.ssthresh, self.cnt, self.cents = 3, ssthresh, 0, 0
        self.rho3 = self.min_rtt = None

    def measure(self, srtt):
        srtt *= 8
        if self.min_rtt is None or srtt < self.min_rtt:
            self.rho3 = max(srtt // RTT0, 8)
            self.min_rtt = srtt

    def grow(self):
        rho = self.rho3 >> 3
        slow = self.cwnd < self.ssthresh
        if slow:
            increment = (1 << min(rho, 16)) * FRACTIONS[self.rho3 - (rho << 3)] - 128
        else:
            increment = ((self.rho3 * self.rho3) << 1) // self.cwnd
            if increment < 128:
                self.cnt += 1
        self.cwnd += increment >> 7
        self.cents += increment % 128
        while self.cents >= 128:
            self.cwnd, self.cents, self.cnt = self.cwnd + 1, self.cents - 128, 0
        if increment == 0 and self.cnt >= self.cwnd:
            self.cwnd, self.cnt = self.cwnd + 1, 0
        if slow:
            self.cwnd = min(self.cwnd, self.ssthresh)
        self.cwnd = min(self.cwnd, 65535)

    def lose(self):
        self.cwnd = self.ssthresh = max(self.cwnd >> 1, 2)
        self.cnt = 0


def play(ssthresh, phases):
    flow, rows = Linux(ssthresh), []
    for srtt, rounds, lost in phases:
        for i in range(rounds):
            acks, recovers = flow.cwnd, lost and i == 0
            if recovers:
                flow.lose()
            for _ in range(acks):
                flow.measure(srtt)
                if not recovers:
                    flow.grow()
        rows.append((flow.cwnd, flow.rho3))
    return rows


for ssthresh, phases in FLOWS:
    print("ssthresh", ssthresh, "(cwnd, 8 rho) after each phase:", play(ssthresh, phases))

print("paper: RTT in ms, rho, growth per ACK in slow start, packets per round trip of 1000 packets")
for rtt in (10, 25, 40, 100, 275):
    rho = max(rtt / 25, 1)
    print(rtt, rho, "%.6f %.6f" % (2**rho - 1, rho * rho))
