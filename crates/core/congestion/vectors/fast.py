#!/usr/bin/env python3
"""Vectors of FAST TCP: Wei, Jin, Low and Hegde, IEEE/ACM ToN 14(6), 2006.

Prints what the tests of src/algorithms/delay/fast.rs state. Windows are in packets, times in
milliseconds. Independent of the code under test.
"""
ALPHA, GAMMA, BASE, PIPE, MI = 20, 0.5, 100, 100, 1.5

w, windows = 10, []
for _ in range(12):
    rtt = max(BASE, BASE * w / PIPE)
    w = min(2 * w, (1 - GAMMA) * w + GAMMA * (w * BASE / rtt + ALPHA))
    windows.append(round(w, 4))
print("equation, from 10 packets:", windows)

# One RTT for each round trip, in whole microseconds. The ACK that ends the second round trip updates. It
# and later ones add a packet each, up to the allowed window.
for first in (10.0, 300.0):
    w, base, average, rounds, allowed, windows = first, 1e9, None, 0, 0, []
    for _ in range(24):
        rtt = int(1000 * max(BASE, BASE * w / PIPE)) / 1000
        acks = int(w)
        for n in range(1, acks + 1):
            base = min(base, rtt)
            average = rtt if average is None else average + min(3 / w, 0.25) * (rtt - average)
            rounds += n == acks
            if average - base < MI:
                w, rounds, allowed = w + 1, 0, 0
                continue
            if rounds >= 2:
                allowed = min(2 * w, (1 - GAMMA) * w + GAMMA * (w * base / average + ALPHA))
                w, rounds = min(w, max(allowed, 2)), 0
            w += min(max(allowed - w, 0), 1)
        windows.append(round(w, 4))
    print("on a pipe, from", first, "packets:", windows)
