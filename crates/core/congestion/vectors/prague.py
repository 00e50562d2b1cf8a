#!/usr/bin/env python3
"""Vectors of TCP Prague: draft-briscoe-iccrg-prague-congestion-control-04 (July 2024), Linux
tcp_prague.c of L4STeam at commit 02573a21, udp_prague at commit e8e34353.

Prints what the tests of src/algorithms/ecn/prague state. Windows are in packets, times in ms.
Independent of the code under test.
"""

VIRT, G = 25, 1 / 16

# Growth per round trip, in packets, for these smoothed RTTs.
print("growth:", [round((min(srtt, VIRT) / VIRT) ** 2, 4) for srtt in (0.5, 1, 5, 10, 25, 50)])

# A fixed sequence: marked packets per round trip, -1 for a loss. The event comes before the first
# ACK. Each ACK is for one packet, and the last one ends the round trip. Alpha is 0.25 at first.
ROUNDS = [0, 0, 3, 0, 5, 1, 0, 0, 2, 2, 2, 2, -1, 0, 0, 0, 9, 0, 1, 1, 1, 0, 0, -1, 0, 0, 4, 4, 0, 0]


def rounds(rtt, transition):
    """Returns window and alpha after each round trip."""
    cwnd, ssthresh, alpha = 20.0, float("inf"), 0.25
    acked = marked = updated = ended = 0
    saw_ce = due = False
    cwr, loss_round, rows = None, None, []
    for i, marks in enumerate(ROUNDS):
        now, acks = (i + 1) * rtt, int(cwnd)

        def recent(then):
            return cwnd >= ssthresh and ended >= transition and now - then < VIRT

        if marks < 0:
            loss_round = i
            cwnd = ssthresh = max(cwnd / 2, 2)
        elif marks > 0:
            if cwr is None or not recent(cwr):
                cwr = now
                cwnd = max(cwnd * (1 - alpha / 2), 2)
            ssthresh = cwnd
        for ack in range(acks):
            ce = ack < marks
            acked, marked, saw_ce = acked + 1, marked + ce, saw_ce or ce
            due = due or ack == acks - 1
            if due and not recent(updated):
                if saw_ce:
                    alpha += G * (marked / acked - alpha)
                    updated = now
                acked, marked, due = 0, 0, False
                ended += cwnd >= ssthresh
            if ce or loss_round == i:
                continue
            if cwnd < ssthresh:
                cwnd += 1
            else:
                slow = (min(rtt, VIRT) / VIRT) ** 2 if ended >= transition else 1
                cwnd += slow / cwnd
        rows.append((round(cwnd, 4), round(alpha, 4)))
    return rows


for rtt, transition in ((10, 5), (40, 5)):
    print(f"RTT {rtt} ms, (cwnd, alpha) after each:", rounds(rtt, transition))

# A constant share p of marks. Per RTT_virt the flow grows by (1 - p) rtt / RTT_virt packets (RTT_virt
# / rtt round trips of the square) and shrinks by p / 2 of its window.
for p, rtt in ((0.1, 25), (0.05, 25), (0.02, 25), (0.02, 5), (0.02, 50)):
    print("steady window, p, RTT:", p, rtt, round(2 * (1 - p) / p * min(rtt, VIRT) / VIRT, 2))
