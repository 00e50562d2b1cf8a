#!/usr/bin/env python3
"""Vectors of Vegas+: Hasegawa, Kurata and Murata 2000, on Linux tcp_vegas.c at commit 09c434b8.

Prints what the tests of src/algorithms/delay/vegas_plus.rs state. Windows are in packets, times in
milliseconds. Independent of the code under test.
"""

# RTT, and 1 for a loss, flight by flight. A window is sent, then acknowledged packet by packet. A loss
# comes before the first ACK. Its flight is in recovery, which ends with its last ACK.
FLIGHTS = (
    [(100, 0), (103, 0), (103, 0)] + [(110 + 5 * i, 0) for i in range(14)]
    + [(180, 0), (180, 1), (120, 0), (120, 1), (130, 0), (130, 1), (130, 0), (130, 1)]
    + [(130, 0), (128, 0), (104, 0), (103, 0), (103, 0)]
)
INFINITE = 0x7FFFFFFF


class Flow:
    def __init__(self, cwnd):
        self.cwnd, self.ssthresh, self.cnt = cwnd, cwnd, 0
        self.base = self.low = INFINITE
        self.samples = self.end = self.sent = 0
        self.doing = True
        self.count, self.aggressive, self.rtt, self.last = 0, False, None, None

    def reno(self, grows):
        if grows:
            if self.cwnd < self.ssthresh:
                self.cwnd += 1
            else:
                self.cnt += 1
                if self.cnt >= self.cwnd:
                    self.cnt -= self.cwnd
                    self.cwnd += 1

    def enable(self):
        self.doing, self.end, self.low, self.samples = True, self.sent, INFINITE, 0

    def vegas(self, ack):
        """An ACK of an open flow."""
        if ack <= self.end:
            if self.cwnd < self.ssthresh:
                self.reno(True)
            return
        self.end = self.sent
        if self.samples <= 2:
            self.reno(True)
        else:
            diff = self.cwnd * (self.low - self.base) // self.base
            if self.cwnd < self.ssthresh:
                if diff > 1:
                    self.cwnd = min(self.cwnd, self.cwnd * self.base // self.low + 1)
                    self.ssthresh = min(self.ssthresh, self.cwnd)
                else:
                    self.reno(True)
            elif diff > 4:
                self.cwnd -= 1
                self.ssthresh = min(self.ssthresh, self.cwnd)
            elif diff < 2:
                self.cwnd += 1
            self.cwnd = max(self.cwnd, 2)
            self.ssthresh = max(self.ssthresh, self.cwnd * 3 // 4)
        self.low, self.samples = INFINITE, 0

    def compare(self):
        if self.rtt is None:
            return
        if self.last and self.cwnd <= self.last[1]:
            self.count = self.count + 1 if self.rtt > self.last[0] else max(self.count - 1, 0)
        self.last, self.rtt = (self.rtt, self.cwnd), None
        if self.count > 8:
            self.aggressive, self.last = True, None

    def lose(self):
        if self.aggressive:
            self.count //= 2
            if self.count == 0:
                self.aggressive, self.rtt = False, None
        self.doing, self.cnt = False, 0
        self.cwnd = self.ssthresh = max(self.cwnd // 2, 2)

    def flight(self, rtt, lost):
        first = self.sent
        self.sent += self.cwnd
        if lost:
            self.lose()
        for ack in range(first + 1, self.sent + 1):
            recovering = lost and ack < self.sent
            was_aggressive = self.aggressive
            if not was_aggressive:
                if ack == first + 1:
                    self.compare()
                self.rtt = rtt if self.rtt is None else min(self.rtt, rtt)
            self.base, self.low = min(self.base, rtt), min(self.low, rtt)
            self.samples += 1
            if was_aggressive:
                self.doing = False
                self.reno(not lost)
            elif recovering:
                self.doing = False
                self.reno(False)
            elif not self.doing:
                self.enable()
                self.reno(not lost)
            else:
                self.vegas(ack)


flow, rows = Flow(30), []
for rtt, lost in FLIGHTS:
    flow.flight(rtt, lost)
    rows.append((flow.cwnd, flow.count, flow.aggressive))
print("after each flight, (cwnd, count, aggressive):", rows)
