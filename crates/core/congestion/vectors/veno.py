#!/usr/bin/env python3
"""Vectors of TCP Veno: Fu and Liew 2003, Linux tcp_veno.c at commit b930a81d of kernel-patches/bpf.

Prints what the tests of src/algorithms/delay/veno.rs state. Windows are in packets, times in
microseconds. Independent of the code under test.
"""

# RTT, and 1 for a loss, round trip by round trip. The loss comes before the first ACK, and the
# window does not grow in that round trip.
ROUNDS = [
    (100000, 0), (100000, 0), (120000, 0), (160000, 1), (100050, 0), (101050, 0), (102050, 0),
    (103050, 0), (108050, 0), (109050, 0), (110050, 0), (112050, 0), (114050, 0), (116050, 0),
    (118050, 1), (100050, 0), (100550, 0), (101550, 1), (100050, 0), (100050, 1), (99050, 0),
    (99550, 0), (150050, 0), (151050, 0), (152050, 0), (153050, 0), (99050, 0), (99050, 0),
    (130050, 0), (130050, 0), (130050, 1), (130050, 1), (130050, 0), (99050, 1), (99050, 0),
    (99050, 0),
]
INFINITE = 0x7FFFFFFF


class Veno:
    def __init__(self):
        self.cwnd, self.ssthresh, self.cnt = 10, INFINITE, 0
        self.basertt = self.minrtt = INFINITE
        self.cntrtt, self.inc, self.diff = 0, 1, 0

    def additive(self):
        if self.cnt >= self.cwnd:
            self.cnt = 0
            self.cwnd += 1
        self.cnt += 1
        if self.cnt >= self.cwnd:
            self.cnt -= self.cwnd
            self.cwnd += 1

    def every_other(self):
        if self.cnt < self.cwnd:
            self.cnt += 1
            return
        self.cwnd += self.inc
        self.inc = 1 - self.inc
        self.cnt = 0

    def ack(self, rtt, recovery):
        self.basertt = min(self.basertt, rtt + 1)
        self.minrtt = min(self.minrtt, rtt + 1)
        self.cntrtt += 1
        if recovery:
            return
        if self.cntrtt > 2:
            self.diff = 2 * self.cwnd - 2 * self.cwnd * self.basertt // self.minrtt
        if self.cwnd < self.ssthresh:
            self.cwnd += 1
        elif self.cntrtt <= 2 or self.diff < 6:
            self.additive()
        else:
            self.every_other()
        self.minrtt = INFINITE

    def lose(self):
        left = self.cwnd * 4 // 5 if self.diff < 6 else self.cwnd // 2
        self.cwnd = self.ssthresh = max(left, 2)
        self.cnt = 0


veno, rows = Veno(), []
for rtt, lost in ROUNDS:
    acks = veno.cwnd
    if lost:
        veno.lose()
    for _ in range(acks):
        veno.ack(rtt, lost)
    if lost:
        veno.minrtt = INFINITE
    rows.append((veno.cwnd, veno.diff))
print("Linux, (cwnd, diff) after each round trip:", rows)
