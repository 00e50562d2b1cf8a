#!/usr/bin/env python3
"""Vectors of YeAH-TCP: Baiocchi, Castellani and Vacirca 2007, Linux tcp_yeah.c at commit 656a52a8 of
raspberrypi/linux.

Prints what the tests of src/algorithms/delay/yeah.rs state. Windows are in packets, times in
microseconds. Independent of the code under test.
"""

# RTT, and 1 for a loss, flight by flight. A window is sent, then acknowledged packet by packet. A loss
# comes before the first ACK. Its flight is in recovery, which ends with its last ACK, and no packet of
# it grows the window any more.
FLIGHTS = (
    [(100000, 0)] * 5 + [(140000, 1), (100000, 0), (101000, 0), (102000, 0), (108000, 0)]
    + [(114000, 0)] * 2 + [(150000, 0)] * 3 + [(120000, 0), (120000, 1)] + [(101000, 0)] * 3
    + [(300100, 0)] * 5 + [(130000, 0)] * 11 + [(130000, 1), (99000, 0), (99000, 0), (99000, 1)]
)
INFINITE = 0x7FFFFFFF


class Yeah:
    def __init__(self):
        self.cwnd, self.ssthresh, self.cnt = 10, INFINITE, 0
        self.base = self.low = INFINITE
        self.samples = self.end = self.sent = 0
        self.last_q = self.reno_now = self.fast_count = 0
        self.reno_count = 2

    def enable(self):
        self.end, self.samples, self.low = self.sent, 0, INFINITE

    def additive(self, per):
        if self.cnt >= per:
            self.cnt = 0
            self.cwnd += 1
        self.cnt += 1
        if self.cnt >= per:
            self.cwnd += self.cnt // per
            self.cnt %= per

    def avoid(self, ack):
        if self.cwnd < self.ssthresh:
            self.cwnd += 1
        elif self.reno_now == 0:
            self.additive(min(self.cwnd, 100))
        else:
            self.additive(self.cwnd)
        if ack <= self.end:
            return
        if self.samples > 2:
            self.vegas(self.low - self.base)
        self.enable()

    def vegas(self, delay):
        queue = self.cwnd * delay // self.low
        if queue > 80 or delay > self.base // 8:
            if queue > 80 and self.cwnd > self.reno_count:
                self.cwnd = max(self.cwnd - min(queue, self.cwnd >> 1), self.reno_count)
                self.ssthresh = self.cwnd
            self.reno_count = max(self.cwnd >> 1, 2) if self.reno_count <= 2 else self.reno_count + 1
            self.reno_now += 1
        else:
            self.fast_count += 1
            if self.fast_count > 50:
                self.reno_count, self.fast_count = 2, 0
            self.reno_now = 0
        self.last_q = queue

    def lose(self):
        half = max(self.cwnd >> 1, 2)
        taken = max(min(self.last_q, half), self.cwnd >> 3) if self.reno_now < 16 else half
        self.fast_count, self.reno_count = 0, max(self.reno_count >> 1, 2)
        self.cwnd = self.ssthresh = max(self.cwnd - taken, 2)
        self.cnt = 0

    def flight(self, rtt, lost):
        first = self.sent
        self.sent += self.cwnd
        if lost:
            self.lose()
        for ack in range(first + 1, self.sent + 1):
            self.base, self.low = min(self.base, rtt + 1), min(self.low, rtt + 1)
            self.samples += 1
            if not lost:
                self.avoid(ack)
            elif ack == self.sent:
                self.enable()


yeah, rows = Yeah(), []
for rtt, lost in FLIGHTS:
    yeah.flight(rtt, lost)
    rows.append((yeah.cwnd, yeah.last_q, yeah.reno_count))
print("flights:", FLIGHTS)
print("Linux, (cwnd, queue, reno_count) after each:", rows)
