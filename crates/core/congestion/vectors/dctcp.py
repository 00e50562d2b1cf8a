#!/usr/bin/env python3
"""Vectors of DCTCP: RFC 8257 (October 2017) section 3.3, Linux tcp_dctcp.c at commit 01581a21.

Prints what the tests of src/algorithms/reno/dctcp.rs state. Windows are in packets. Independent of
the code under test: integer arithmetic, and fractions for the RFC.
"""
from fractions import Fraction

# Section 3.3, steps 5 and 6: alpha from 0 with all packets marked, g = 1/16.
alpha, rises = Fraction(0), []
for _ in range(16):
    alpha = alpha * Fraction(15, 16) + Fraction(1, 16)
    rises.append(round(float(alpha), 4))
print("alpha, all marked:", rises[:8], "after 16:", rises[15])


def linux_alpha(alpha, ce, delivered):
    """Returns alpha in 1/1024 after a window."""
    taken = alpha >> 4
    alpha -= taken if taken else alpha
    return min(alpha + (ce << 6) // max(1, delivered), 1024) if ce else alpha


# Without marks, from 1: the value after each 16 windows, and the first window with 0.
alpha, left, windows = 1024, [], 0
while alpha:
    alpha, windows = linux_alpha(alpha, 0, 10), windows + 1
    if windows % 16 == 0:
        left.append(alpha)
print("Linux, no marks:", left, "0 after", windows)

# A fixed sequence: marked packets per round trip, -1 for a loss. The event comes before the first
# ACK, and the window does not grow in that round trip. Alpha is updated by its last ACK.
ROUNDS = [0, 0, 0, 3, 0, 5, 1, 0, 0, 40, 0, -1, 0, 0, 0, 2, 0, 7, 0, 0, 0, 0, -1, 9, 0, 0, 1, 0, 0, 0]
cwnd, ssthresh, cnt, alpha = 10, 1 << 30, 0, 1024
rows = []
for marks in ROUNDS:
    acks = cwnd
    if marks:
        kept = cwnd >> 1 if marks < 0 else cwnd - (cwnd * alpha >> 11)
        cwnd = ssthresh = max(kept, 2)
        cnt = 0
    ce = min(max(marks, 0), acks)
    for _ in range(acks if marks == 0 else 0):
        if cwnd < ssthresh:
            cwnd += 1
            continue
        cnt += 1
        if cnt >= cwnd:
            cnt -= cwnd
            cwnd += 1
    alpha = linux_alpha(alpha, ce, acks)
    rows.append((cwnd, alpha))
print("rounds:", ROUNDS)
print("Linux, (cwnd, alpha) after each:", rows)

# A flow that is marked in each round trip above W packets: alpha (W alpha / 2 + 2) = 1.
for w in (200, 400, 800):
    print("steady alpha, W =", w, round(((4 + 2 * w) ** 0.5 - 2) / w, 4))
