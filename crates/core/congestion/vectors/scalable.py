"""Vectors for Scalable TCP.

Linux net/ipv4/tcp_scalable.c (TCP_SCALABLE_AI_CNT = 100, one packet for min(cwnd, 100) acknowledged packets;
TCP_SCALABLE_MD_SCALE = 3), in whole packets. T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide
Area Networks", ACM CCR, April 2003: growth a = 0.01 per packet, reduction b = 1/8.
"""

from math import log


class Linux:
    def __init__(self, cwnd):
        self.cwnd, self.cnt = cwnd, 0

    def ack(self):
        w = min(self.cwnd, 100)
        if self.cnt >= w:
            self.cnt, self.cwnd = 0, self.cwnd + 1
        self.cnt += 1
        if self.cnt >= w:
            self.cwnd += self.cnt // w
            self.cnt %= w

    def loss(self):
        self.cwnd, self.cnt = max(self.cwnd - (self.cwnd >> 3), 2), 0


print("start, packets acknowledged, window, window after a loss")
for start, acked in ((10, 200), (90, 1000), (400, 4000), (3, 0)):
    linux = Linux(start)
    for _ in range(acked):
        linux.ack()
    grown = linux.cwnd
    linux.loss()
    print("(%d, %d, %d, %d)," % (start, acked, grown, linux.cwnd))
print("round trips to recover: %.2f" % (log(1 / 0.875) / log(1.01)))
