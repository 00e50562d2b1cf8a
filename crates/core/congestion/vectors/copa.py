#!/usr/bin/env python3
"""Vectors of Copa: Arun and Balakrishnan, NSDI 2018, sections 2.1 and 2.2.

Prints what the tests of src/algorithms/delay/copa state. Windows are in packets, times in
microseconds. Independent of the code under test.
"""

# RTT, and 1 for a loss, round by round. As many ACKs as whole packets in the window, evenly spread. A
# loss comes before the first ACK of its round.
ROUNDS = (
    [(40000, 0)] * 3 + [(46000, 0)] * 2 + [(41000, 0)] * 8 + [(60000, 0)] * 4
    + [(80000, 0), (100000, 0), (100000, 1)] + [(90000, 0)] * 6 + [(44000, 0)] * 3
)


def within(samples, now, window):
    """The samples of the last `window`, at least the newest."""
    return [rtt for at, rtt in samples if now - at < window] or [samples[-1][1]]


w, v, inv_delta, slow_start = 10.0, 1.0, 2.0, True
direction, repeated, before = 0, 0, w
samples, start, emptied = [], 0, 0
rows = []
for rtt, lost in ROUNDS:
    acks = int(w)
    competitive = False
    for n in range(1, acks + 1):
        now = start + rtt * n // acks
        samples.append((now, rtt))
        standing = min(within(samples, now, rtt / 2))
        least = min(within(samples, now, 10000000))
        largest = max(within(samples, now, 4 * rtt))
        queue = standing - least
        if queue <= (largest - least) / 10:
            emptied = now
        competitive = now - emptied > 5 * rtt
        if not competitive:
            inv_delta = 2.0
        elif n == 1 and not lost:
            inv_delta += 1
        if n == 1:
            new = 0 if slow_start else (w > before) - (w < before)
            if new != direction or new == 0:
                v, repeated = 1.0, 0
            else:
                repeated += 1
                if repeated >= 3:
                    v *= 2
            direction, before = new, w
        rises = queue == 0 or w / standing <= inv_delta / queue
        if slow_start and rises:
            w += 1
            continue
        if slow_start:
            slow_start, before = False, w
        turn = 1 if rises else -1
        if v > 1 and turn != direction:
            direction, v, repeated, before = turn, 1.0, 0, w
        w = max(w + min(v * inv_delta / w, 1) * (1 if rises else -1), 2)
    # A loss halves 1 / delta in the mode of the last ACK before it.
    rows.append((round(w, 4), v, inv_delta))
    start += rtt
    if competitive and ROUNDS[len(rows):] and ROUNDS[len(rows)][1]:
        inv_delta = max(inv_delta / 2, 2.0)
print("after each round, (w, v, 1 / delta):", rows)
