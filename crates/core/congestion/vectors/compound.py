#!/usr/bin/env python3
"""Vectors of Compound TCP: draft-sridharan-tcpm-ctcp-02 (November 2008), with wnd^k in equation 3.

Prints what the tests of src/algorithms/delay/compound.rs state. Windows are in packets, times in
milliseconds. Independent of the code under test.
"""

ALPHA, K, LOW_WINDOW = 1 / 8, 0.75, 38

print("increment of dwnd per round trip")
for wnd in (38, 41, 100, 300, 1000):
    print(wnd, "%.4f" % (max(ALPHA * wnd**K - 1, 0) if wnd > LOW_WINDOW else 0))

print("mean window at a loss rate of p, integral of the sawtooth; table 1 of the draft")
for p, table in ((1e-3, 64), (1e-4, 404), (1e-5, 2552), (1e-6, 16107), (1e-7, 101630)):
    # dw per round trip = w^k / 8, from w / 2 to w; packets = 1 / p.
    packets = (1 - 0.5 ** (2 - K)) / (2 - K) / ALPHA
    time = (1 - 0.5 ** (1 - K)) / (1 - K) / ALPHA
    top = (1 / p / packets) ** (1 / (2 - K))
    print(p, "%.0f" % (packets / time * top), table)


class Compound:
    """Evaluated once per round trip; cwnd grows by 1."""

    def __init__(self, cwnd, dwnd):
        self.cwnd, self.dwnd, self.gamma, self.reno = cwnd, dwnd, 30, None

    def round(self, base, rtt):
        wnd, queued = self.cwnd + self.dwnd, 1 - base / rtt
        diff = wnd * queued
        self.reno = self.cwnd * queued
        if diff >= self.gamma:
            self.dwnd = max(self.dwnd - diff, 0)
        elif wnd > LOW_WINDOW:
            self.dwnd += max(ALPHA * wnd**K - 1, 0)

    def lose(self):
        if self.reno is not None:
            self.gamma = min(max(0.75 * self.gamma + 0.25 * 0.75 * self.reno, 5), 30)
            self.reno = None
        wnd = self.cwnd + self.dwnd
        self.dwnd = max(wnd / 2 - self.cwnd / 2, 0)
        self.cwnd /= 2


# RTT, or 0 for a loss. The base RTT is 100. Only the decisions at the ends of round trips; the
# growth of cwnd by an ACK for every packet is left out.
STEPS = [100, 100, 104, 106, 103, 0, 0, 101, 104, 0, 100, 110, 107, 100, 0, 100, 102, 120, 0, 100]
flow = Compound(400, 200)
rows = []
for rtt in STEPS:
    if rtt:
        flow.round(100, rtt)
    else:
        flow.lose()
    rows.append("(%d, %.4f, %.4f, %.4f)" % (rtt, flow.cwnd + flow.dwnd, flow.dwnd, flow.gamma))
print("(rtt, wnd, dwnd, gamma):", ", ".join(rows))
