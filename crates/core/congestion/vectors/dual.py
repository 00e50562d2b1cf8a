#!/usr/bin/env python3
"""Vectors of TCP DUAL: Wang and Crowcroft 1992, as described by Brakmo et al. 1994 (TCP Vegas).

Prints what the test `on_a_pipe` of src/algorithms/delay/dual.rs states: the window in packets, after
each five round trips, on a pipe of 100 packets whose RTT is max(100, window) ms, rounded down.
Independent of the code under test.
"""


def run(window):
    low = high = None
    rows = []
    for trip in range(1, 41):
        rtt = int(max(100.0, window))
        acks = int(window)
        for i in range(acks):
            low = rtt if low is None else min(low, rtt)
            high = rtt if high is None else max(high, rtt)
            last_of_two = trip % 2 == 0 and i + 1 == acks
            if last_of_two and rtt > (low + high) / 2:
                window *= 7 / 8
            window += 1 / window
        if trip % 5 == 0:
            rows.append(round(window, 4))
    return rows


for first in (80.0, 120.0, 190.0):
    print((first, run(first)))
