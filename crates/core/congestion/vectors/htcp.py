#!/usr/bin/env python3
"""Vectors of H-TCP: Linux tcp_htcp.c at commit 05909cd9, draft-leith-tcp-htcp-06 (April 2008).

Prints what the tests of src/algorithms/reno/htcp state. Windows are in packets, times in ticks of
1 ms. alpha and beta are in 1/128. Independent of the code under test.
"""

HZ = 1000

# Base RTT of each flow, then RTT, number of round trips, and 1 if the first one begins with a loss.
FLOWS = [
    (100, [
        (100, 12, 0), (110, 6, 0), (125, 4, 0), (170, 1, 0), (130, 1, 1), (100, 14, 0), (118, 5, 0),
        (130, 4, 1), (100, 12, 0), (115, 7, 0), (125, 6, 1), (101, 18, 0), (119, 4, 0), (120, 8, 1),
        (100, 20, 0), (119, 3, 0), (125, 1, 1), (100, 3, 0), (100, 9, 1), (102, 17, 0), (120, 1, 1),
        (100, 30, 0), (150, 1, 1), (100, 12, 0), (100, 1, 1), (100, 12, 0), (118, 1, 1), (100, 14, 0),
    ]),
    (30, [
        (30, 60, 0), (40, 20, 0), (41, 2, 1), (30, 55, 0), (45, 10, 1), (31, 50, 0), (50, 6, 1),
        (30, 50, 0), (50, 6, 1), (30, 90, 0), (49, 5, 1), (30, 44, 0),
    ]),
    (9, [(9, 300, 0), (12, 1, 1), (9, 200, 0), (12, 1, 1), (9, 150, 0), (12, 1, 1), (9, 180, 0)]),
    (240, [(240, 8, 0), (250, 3, 1), (240, 9, 0), (250, 2, 1), (240, 8, 0), (255, 2, 1), (240, 12, 0)]),
]


def between(x, low, high):
    return low <= x <= high


class Htcp:
    def __init__(self, cwnd, now):
        self.cwnd, self.cnt, self.now = cwnd, 0, now
        self.alpha, self.beta, self.modeswitch = 128, 64, 0
        self.packets = self.min_rtt = self.max_rtt = 0
        self.bi = self.max_b = self.old_max_b = self.last_time = 0
        self.last_cong, self.undo, self.open = now, False, True

    def acked(self, rtt):
        if self.min_rtt > rtt or not self.min_rtt:
            self.min_rtt = rtt
        if self.open:
            self.max_rtt = max(self.max_rtt, self.min_rtt)
            if self.max_rtt < rtt <= self.max_rtt + 20 * HZ // 1000:
                self.max_rtt = rtt
        else:
            self.packets, self.last_time = 0, self.now
            return
        self.packets += 1
        if (self.packets >= self.cwnd - ((self.alpha >> 7) or 1) and
                self.now - self.last_time >= self.min_rtt > 0):
            sample = self.packets * HZ // (self.now - self.last_time)
            if (self.now - self.last_cong) // self.min_rtt <= 3:
                self.max_b = self.bi = sample
            else:
                self.bi = (3 * self.bi + sample) // 4
                self.max_b = max(self.max_b, self.bi)
            self.packets, self.last_time = 0, self.now

    def update_beta(self):
        last, self.old_max_b = self.old_max_b, self.max_b
        if not between(5 * self.max_b, 4 * last, 6 * last):
            self.beta, self.modeswitch = 64, 0
            return "switch"
        if self.modeswitch and self.min_rtt > 10 * HZ // 1000 and self.max_rtt:
            self.beta = min(max((self.min_rtt << 7) // self.max_rtt, 64), 102)
            return "adaptive"
        self.beta, self.modeswitch = 64, 1
        return "default"

    def update_alpha(self):
        diff, factor = self.now - self.last_cong, 1
        if diff > HZ:
            diff -= HZ
            factor = 1 + (10 * diff + ((diff // 2) * (diff // 2) // HZ)) // HZ
        scale = min(max((HZ << 3) // (10 * self.min_rtt), 4), 80)
        factor = (factor << 3) // scale or 1
        self.alpha = 2 * factor * (128 - self.beta)

    def lose(self):
        rule = self.update_beta()
        self.update_alpha()
        if self.max_rtt > self.min_rtt > 0:
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 // 100
        self.cwnd, self.cnt = max((self.cwnd * self.beta) >> 7, 2), 0
        self.last_cong, self.undo, self.open = self.now, True, False
        return rule

    def ends_recovery(self):
        if self.undo:
            self.last_cong, self.undo = self.now, False
        self.open = True

    def avoid(self):
        if (self.cnt * self.alpha) >> 7 >= self.cwnd:
            self.cwnd, self.cnt = self.cwnd + 1, 0
            self.update_alpha()
        else:
            self.cnt += 1


def play(base, phases):
    start = 1000 * HZ
    flow, rows, rules = Htcp(40, start), [], []
    for rtt, rounds, lost in phases:
        for i in range(rounds):
            acks = flow.cwnd
            recovers = lost and i == 0
            flow.now = start
            if recovers:
                rules.append(flow.lose())
            for j in range(acks):
                flow.now = start + j * rtt // acks
                flow.acked(rtt)
                if not recovers:
                    flow.ends_recovery()
                    flow.avoid()
            start += rtt
        rows.append((flow.cwnd, flow.alpha, flow.beta))
    return rows, rules


for base, phases in FLOWS:
    rows, rules = play(base, phases)
    print("base", base, "rules", rules)
    print("(cwnd, alpha, beta) after each phase:", rows)


def epoch(window, q, delta_l, rtt=0.1, beta=0.5):
    """Round trips from beta * window to window, and the mean increase."""
    w, n = beta * window, 0
    while w < window:
        over = n * rtt - delta_l
        w += 1 + 10 * over + q * over * over if over > 0 else 1
        n += 1
    return n, (w - beta * window) / n


print("draft: table 1 (epoch without its first second, s) and table 2 (mean increase) for 0.1 s")
for q in (0.25, 0.5):
    print("q", q)
    for window in (100, 1000, 2000, 5000, 10000, 20000, 50000):
        print(window, "%.1f" % (epoch(window, q, 0)[0] * 0.1), "%.1f" % epoch(window, q, 1)[1])
