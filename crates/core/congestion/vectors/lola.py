#!/usr/bin/env python3
"""Vectors of TCP LoLa: Hock, Neumeister, Zitterbart and Bless, IEEE LCN 2017.

Prints what the tests of src/algorithms/delay/lola state. Windows are in packets of 1000 bytes, times in
microseconds. Independent of the code under test.
"""
GAMMA, PHI, C, MDS, PIPE = 973 / 1024, 35, 0.4, 1000, 100


def share(t):
    """Equation 2, in bytes."""
    return (t / 1000 / PHI) ** 3


print("X:", [(ms, round(share(1000 * ms), 2)) for ms in (35, 70, 105, 250, 350, 3500)])

# A pipe of 100 packets. One RTT for each round trip.
w, ssthresh, phase, since, blind = 10.0, float("inf"), "slow start", 0, 0
top, k = 0.0, 0.0
start, least, low, high, samples, rows = 0, 10**12, 10**12, 0, [], []
for trip in range(1, 151):
    rtt = int(1000 * max(100, w * 100 / PIPE))
    acks = int(w)
    for n in range(1, acks + 1):
        now = start + rtt * n // acks
        samples = [s for s in samples if now - s[0] <= 40000] + [(now, rtt)]
        current = min(s[1] for s in samples)
        least, low, high = min(least, current), min(low, rtt), max(high, rtt)
        queue = current - least
        if phase == "slow start" and high - low > 2000:
            ssthresh = min(ssthresh, w)
        if phase == "slow start" and w >= ssthresh:
            phase, since, blind, top, k = "cubic increase", now, now, w, 0.0
        elif phase == "cubic increase" and now >= blind and queue > 1000:
            phase, since = "fair flow balancing", now
        elif phase == "fair flow balancing" and queue > 5000:
            phase, since = "cwnd hold", now
        elif phase == "cwnd hold" and now - since >= 250000:
            top, w = w, max(w * least / current * GAMMA, 2)
            ssthresh = min(ssthresh, w)
            k = ((top - w) / C) ** (1 / 3)
            phase, since, blind = "cubic increase", now, now + 2 * current
        t = now - since
        if phase == "slow start":
            w += 1
            continue
        growth = 0
        if phase == "cubic increase":
            growth = C * ((t + least) / 1e6 - k) ** 3 + top - w
        elif phase == "fair flow balancing":
            growth = (share(t) / MDS - w * queue / current) * current / 40000
        w += min(max(growth / w, 0), 0.5)
    start += rtt
    if trip % 5 == 0:
        rows.append((round(w, 4), phase))
print("on a pipe, (w, phase) after each five round trips:", rows)
