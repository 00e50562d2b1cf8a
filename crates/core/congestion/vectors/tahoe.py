#!/usr/bin/env python3
"""Vectors of Tahoe: slow start after every loss (Jacobson 1988; RFC 5681 equations 2 to 4).

Prints what the tests of src/algorithms/reno/tahoe.rs state: the window in packets at the begin of
each round trip, with an ACK for each packet. Independent of the code under test.
"""

def rounds(flight, count):
    """Windows after a loss with `flight` packets in flight, rounded down."""
    ssthresh, cwnd, windows = max(flight / 2, 2), 1.0, []
    for _ in range(count):
        windows.append(int(cwnd))
        for _ in range(int(cwnd)):
            cwnd += 1 if cwnd < ssthresh else 1 / cwnd
    return windows


for flight in (3, 20, 64, 101):
    print(flight, rounds(flight, 12))
