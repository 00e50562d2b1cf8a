#!/usr/bin/env python3
"""Vectors of LEDBAT++: draft-irtf-iccrg-ledbat-plus-plus-01, sections 4.1 to 4.5.

Prints what the tests of src/algorithms/delay/ledbat_plus_plus state. Windows are in packets, times in
microseconds. Independent of the code under test.
"""
from math import ceil

TARGET, PIPE = 60000, 100


def gain(base):
    return 1 / min(16, ceil(2 * TARGET / base))


bases = (1000, 7500, 8000, 10000, 30000, 60000, 100000, 120000, 500000)
print("1 / GAIN:", [(base, 1 / gain(base)) for base in bases])

# A pipe of 100 packets. One RTT for each round trip.
w, ssthresh, phase, until, began = 2.0, float("inf"), "slow start", None, None
start, base, samples, rows = 0, 10**9, [], []
for trip in range(1, 301):
    rtt = int(1000 * max(100, w * 100 / PIPE))
    acks = int(w)
    for n in range(1, acks + 1):
        now = start + rtt * n // acks
        base = min(base, rtt)
        samples = (samples + [(now, rtt)])[-4:]
        samples = [s for s in samples[:-1] if now - s[0] <= rtt] + samples[-1:]
        delay = min(s[1] for s in samples) - base
        if phase == "slow start" and delay > 0.75 * TARGET:
            ssthresh = min(ssthresh, w)
        if phase == "slow start" and w >= ssthresh:
            phase, until = "avoidance", now + 2 * rtt
        elif phase == "avoidance" and now >= until:
            phase, until, began = "freeze", now + 2 * rtt, now
            w, ssthresh = min(w, 2), w
        elif phase == "freeze" and now >= until:
            phase = "ramp"
        elif phase == "ramp" and w >= ssthresh:
            phase, until = "avoidance", now + 9 * (now - began)
        if phase == "freeze":
            continue
        if w < ssthresh:
            w += gain(base)
            continue
        change = gain(base)
        if delay > TARGET:
            change = max(change - w * (delay / TARGET - 1), -w / 2)
        w = max(w + change / w, 2)
        ssthresh = min(ssthresh, w)
    start += rtt
    if trip % 10 == 0:
        rows.append((round(w, 4), phase))
print("on a pipe, (w, phase) after each ten round trips:", rows)
