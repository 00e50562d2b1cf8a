#!/usr/bin/env python3
"""Vectors of TFRC: RFC 5348 (September 2008), sections 3.1, 4.3, 5.4 and 6.3.1.

Prints what the tests of src/algorithms/media/tfrc/tests.rs state. Rates are in bytes per second, times
in seconds. Independent of the code under test.
"""

from math import sqrt

S, WEIGHTS = 1460, (1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2)


def x_bps(r, p, s=S):
    return s / (r * sqrt(2 * p / 3) + 4 * r * 3 * sqrt(3 * p / 8) * p * (1 + 32 * p * p))


def mean(open_interval, closed):
    """Both sums written out, newest first."""
    n = len(closed)
    every = [open_interval] + closed
    old = sum(w * i for w, i in zip(WEIGHTS, closed))
    new = sum(w * every[i] for i, w in zip(range(n), WEIGHTS))
    return max(old, new) / sum(WEIGHTS[:n])


def inverse(target, r, s=S):
    """Newton's method on log p."""
    p = 0.01
    for _ in range(200):
        h = 1e-7 * p
        slope = (x_bps(r, p + h, s) - x_bps(r, p - h, s)) / (2 * h)
        step = (x_bps(r, p, s) - target) / slope
        p = max(p / 10, min(1.0, p - step))
    return p


print("A11:", [round(x_bps(r, p), 1) for r, p in ((.1, .001), (.1, .01), (.1, .1), (.05, .02), (.6, .01))])
print("first interval at 100 ms and 14600, 146000, 1460000 B/s:",
      [round(1 / inverse(x, .1), 4) for x in (14600, 146000, 1460000)])
print("means:", mean(5, [10] + [100] * 7), mean(300, [10] + [100] * 7), mean(50, [40, 20]), mean(10, [40]))

# A loss event each 50 packets at 100 ms, from the first interval for 146 000 B/s on: p and X_Bps after
# each event, with an open interval of one packet (three more packets have been acknowledged: 4).
closed, rows = [], []
for k in range(4):
    closed = [1 / inverse(146000, .1) if k == 0 else 50] + closed[:7]
    p = 1 / mean(4, closed)
    rows.append((round(p, 9), round(x_bps(.1, p), 3)))
print("events each 50 packets:", rows)
