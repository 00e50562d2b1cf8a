#!/usr/bin/env python3
"""Vectors of PERT: Bhandarkar, Reddy, Zhang and Loguinov, SIGCOMM 2007.

Prints what the tests of src/algorithms/delay/pert.rs state. Windows are in packets, times in
milliseconds. Independent of the code under test.
"""


def probability(queue, base=None):
    """With a base RTT the ramp ends at twice the base plus 10 ms."""
    end = 20 if base is None else 2 * (base + 10) - base
    if queue <= 5:
        return 0
    if queue <= 10:
        return 0.05 * (queue - 5) / 5
    return min(0.05 + 0.95 * (queue - 10) / (end - 10), 1)


queues = (0, 5, 7.5, 10, 12, 15, 20, 70, 90)
print("p, end at 20 ms:", [round(probability(queue), 4) for queue in queues])
print("p, end at 120 ms of RTT:", [round(probability(queue, 50), 4) for queue in queues])

# A response as soon as the average queuing delay exceeds 10 ms. The rest of its round trip is in
# recovery, and does not grow the window.
w, base, average, windows = 90.0, 1e9, None, []
for trip in range(1, 101):
    rtt = int(1000 * max(100, w)) / 1000
    recovering = False
    for _ in range(int(w)):
        base = min(base, rtt)
        average = rtt if average is None else 0.99 * average + 0.01 * rtt
        if recovering:
            continue
        if average - base > 10:
            w, recovering = max(0.65 * w, 2), True
        else:
            w += 1 / w
    if trip % 5 == 0:
        windows.append(round(w, 4))
print("on a pipe, from 90 packets:", windows)
