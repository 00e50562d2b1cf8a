#!/usr/bin/env python3
"""Vectors of TIMELY: Mittal et al., SIGCOMM (August 2015), as its authors' timely-code-snippet.cc, and
the patch of Zhu et al., CoNEXT (December 2016), as jitupadhye-zz/rdma timely-fixed.m at commit
80b6d7d5.

Prints what the tests of src/algorithms/delay/timely.rs state. Rates are in Mbit/s, times in us.
Independent of the code under test.
"""
T_LOW, T_HIGH, MIN_RTT, ALPHA, BETA, DELTA = 50, 500, 20, 0.02, 0.8, 10
RTTS = [60, 64, 70, 80, 100, 140, 200, 300, 420, 520, 700, 600, 450, 300, 250, 200, 150, 120, 90, 80, 45, 40, 55, 52]


def run(patched):
    """Returns the rate after each RTT. One comes every 20 us."""
    rate, previous, average, row, rows = 1000.0, RTTS[0], 0.0, 0, []
    for rtt in RTTS:
        row = row + 1 if rtt < previous else 0
        average = (1 - ALPHA) * average + ALPHA * (rtt - previous)
        previous, gradient = rtt, average / MIN_RTT
        if rtt < T_LOW:
            new = rate + DELTA
        elif rtt > T_HIGH:
            new = rate * (1 - BETA * (1 - T_HIGH / rtt))
        elif patched:
            w = 1 if gradient > 0.25 else 0 if gradient < -0.25 else (gradient + 0.25) / 0.5
            new = rate + DELTA * (1 - w) - 0.008 * (rtt - T_LOW) / T_LOW * rate * w
        elif gradient <= 0:
            new = rate + (5 if row >= 5 else 1) * DELTA
        else:
            new = rate * (1 - BETA * gradient)
        rate = max(new, rate / 2)
        rows.append(round(rate, 4))
    return rows


print("published:", run(False))
print("patched:", run(True))
