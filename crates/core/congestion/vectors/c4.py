#!/usr/bin/env python3
"""Vectors of C4: draft-huitema-ccwg-c4-spec (editors' copy e3377b6, November 2025), and for marks
picoquic c4.c at commit 0a82f5f8 (July 2026).

Prints what the tests of src/algorithms/media/c4 state. Independent of the code under test.
"""


def sensitivity(rate):
    """Returns the sensitivity at a rate in bytes/s."""
    if rate <= 50e3:
        return 0.0
    if rate <= 1e6:
        return 0.92 * (rate - 50e3) / 950e3
    if rate <= 10e6:
        return 0.92 + 0.08 * (rate - 1e6) / 9e6
    return 1.0


print("Mbit/s, s, delay threshold at 100 ms in ms, of losses, of marks, losses in a row until a signal")
for mbit in (0.4, 1, 2, 5, 8, 10, 20, 50, 80):
    s = sensitivity(mbit * 125e3)
    delay = min(25.0, (1 / 16 + 3 / 16 * (1 - s)) * 100)
    loss, marks = 0.02 + 0.5 * (1 - s), (192 - 96 * s) / 1024
    p, losses = 0.0, 0
    while p <= loss:
        p, losses = (1 + 15 * p) / 16, losses + 1
    print(f"({mbit}, {s:.4f}, {delay:.3f}, {loss:.4f}, {marks:.4f}, {losses}),")

# Eras: gain of the one before, smallest and largest RTT in ms. Result: running min, nominal max.
ERAS = [(1, 40, 60), (1, 44, 50), (1.25, 10, 900), (0.9375, 36, 500), (1, 52, 52), (1, 50, 290), (1, 50, 50)]
low, high, rows = float("inf"), 45.0, []
for gain, small, large in ERAS:
    if gain <= 1:
        low = small if small < low else (7 * low + small) / 8
        large = min(large, low + 250)
        high = large if large > high else (7 * high + large) / 8
    rows.append((round(low, 4), round(high, 4)))
print("RTTs:", rows)


def run(first, capacities):
    """Returns state and rate after each era. A path without a queue delivers what was sent in the era
    before, up to its capacity. The first rate is known."""
    state, rate, gain, eras, pushes, push, before = "I", first, 2.0, 0, 0, None, 0.0
    sent, rows = first, []
    for capacity in capacities:
        rate = max(rate, min(sent, capacity))
        sent = gain * rate
        if state == "I":
            eras = 0 if rate >= 1.25 * before else eras + 1
            if eras == 3:
                state, gain, push = "R", 15 / 16, None
            else:
                before = rate
        elif state == "R":
            grown = push is not None and (rate > before if push < 1.1 else rate >= before * (1 + (push - 1) / 4))
            pushes = pushes + 1 if grown else 0
            before = rate
            if pushes == 3:
                state, gain, eras, pushes = "I", 2.0, 0, 0
            else:
                state, gain, eras = "C", 1.0, 0
        elif state == "C":
            eras += 1
            if eras == 4:
                state, gain = "P", 1.25 if pushes else 17 / 16
        else:
            state, push, gain = "R", gain, 15 / 16
        rows.append((state, round(rate, 2)))
    return rows


print("eras:", run(100.0, [1000.0] * 12 + [1100.0] * 12 + [4000.0] * 26))
