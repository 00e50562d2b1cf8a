"""Vectors for TCP-Illinois.

Linux net/ipv4/tcp_illinois.c, commit 0d946db93a62, in its integer arithmetic: alpha in units of 1/128, beta in
units of 1/64, times in microseconds, windows in packets. The formulas of S. Liu, T. Basar, R. Srikant,
"TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm for High-Speed Networks", in exact numbers.
"""

from fractions import Fraction as F


def exact(da, dm, a_min=F(3, 10), a_max=F(10), b_min=F(1, 8), b_max=F(1, 2)):
    """kappa1 / (kappa2 + da) and kappa3 + kappa4 da."""
    d1, d2, d3 = dm / 100, dm / 10, dm * 8 / 10
    k1 = (dm - d1) * a_min * a_max / (a_max - a_min)
    k2 = (dm - d1) * a_min / (a_max - a_min) - d1
    k3 = (b_min * d3 - b_max * d2) / (d3 - d2)
    k4 = (b_max - b_min) / (d3 - d2)
    alpha = a_max if da <= d1 else k1 / (k2 + da)
    beta = b_min if da <= d2 else b_max if da >= d3 else k3 + k4 * da
    return float(alpha), float(beta)


print("dm = 100 ms, da in ms: alpha, beta")
for da in (1, 5, 10, 20, 50, 80, 100):
    print(da, "%.4f %.4f" % exact(F(da), F(100)))


class Linux:
    def __init__(self, cwnd):
        self.cwnd, self.cnt = cwnd, 0
        self.alpha, self.beta = 1280, 32
        self.base, self.max = 0x7FFFFFFF, 0
        self.above = self.low = 0
        self.rtts = []

    def round(self, rtt):
        """A window of ACKs with the same RTT. The first ACK ends the last round trip."""
        for i in range(self.cwnd):
            self.base, self.max = min(self.base, rtt), max(self.max, rtt)
            self.rtts.append(rtt)
            if i == 0:
                self.update()
            self.cnt += 1
            delta = (self.cnt * self.alpha) >> 7
            if delta >= self.cwnd:
                self.cwnd += delta // self.cwnd
                self.cnt = 0

    def update(self):
        if self.cwnd < 15:
            self.alpha, self.beta = 128, 32
        else:
            dm = self.max - self.base
            da = sum(self.rtts) // len(self.rtts) - self.base
            self.set_alpha(da, dm)
            self.set_beta(da, dm)
        self.rtts = []

    def set_alpha(self, da, dm):
        d1 = dm // 100
        if da <= d1:
            if not self.above:
                self.alpha = 1280
                return
            self.low += 1
            if self.low >= 5:
                self.low = self.above = 0
                self.alpha = 1280
            return
        self.above = 1
        self.alpha = ((dm - d1) * 1280) // ((dm - d1) + (da - d1) * (1280 - 38) // 38)

    def set_beta(self, da, dm):
        d2, d3 = dm // 10, 8 * dm // 10
        if da <= d2:
            self.beta = 8
        elif da >= d3 or d3 <= d2:
            self.beta = 32
        else:
            self.beta = (8 * d3 - 32 * d2 + 24 * da) // (d3 - d2)

    def loss(self):
        self.cwnd = max(self.cwnd - ((self.cwnd * self.beta) >> 6), 2)
        self.cnt = 0


SEQUENCE = [100, 100, 110, 130, 160, 200, 150, "loss", 120, 100, 100, 100, 100, 100, 100, 100, 180, "loss", 140]
print("RTT in ms or loss: window, alpha, beta")
linux = Linux(100)
for step in SEQUENCE:
    if step == "loss":
        linux.loss()
    else:
        linux.round(step * 1000)
    print('(%s, %d, %.3f, %.3f),' % (0 if step == "loss" else step, linux.cwnd, linux.alpha / 128, linux.beta / 64))
