"""CPU time of a controller in Python beside the same one in Rust, in turns.

    python benches/controllers.py [ROUNDS]

Prints the least of all rounds: time per call of Python beyond the run in Rust, and the ratio.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import ackclock as ac

SECONDS = 120
#: Packets of a constant window, a little more than the path holds.
WINDOW = 120


class EveryAck(ac.Controller):
    def __init__(self, path: ac.PathInfo) -> None:
        self.packet, self.window, self.threshold = path.max_datagram_size, int(self.cwnd), 1 << 60
        self.calls = 0

    def on_ack(self, ack: ac.Ack) -> None:
        global calls
        calls += 1
        window = self.window
        if window < self.threshold:
            window += ack.growth
        else:
            window += self.packet * ack.growth // window
        self.cwnd = self.window = window

    def on_congestion(self, event: ac.Congestion) -> None:
        self.cwnd = self.window = self.threshold = max(self.window // 2, 2 * self.packet)


class EveryRound(ac.Controller):
    def __init__(self, path: ac.PathInfo) -> None:
        self.cwnd = WINDOW * path.max_datagram_size

    def on_round(self, report: ac.Report) -> None:
        global calls
        calls += 1
        self.cwnd = int(self.cwnd * (1.0 + 0.0 * report.rtt_gradient))


class EveryInterval(EveryRound):
    interval = "10 ms"
    on_interval = EveryRound.on_round
    on_round = ac.Controller.on_round


calls = 0


def study(controller: object) -> ac.Experiment:
    return ac.Experiment(
        {
            "title": "bench",
            "duration": f"{SECONDS} s",
            "link": {"rate": "50 Mbit/s", "delay": "10 ms", "queue": "1 BDP"},
            "flow": [{"controller": controller}],
        }
    )


def seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def main(rounds: int) -> None:
    global calls
    constant = ac.use("fixed-window", window=WINDOW)
    pairs = {
        "every ACK, AIMD": (EveryAck, ac.use("new-reno", growth="ack")),
        "every round trip": (EveryRound, constant),
        "every 10 ms": (EveryInterval, constant),
    }
    for name, kinds in pairs.items():
        studies = [study(kind) for kind in kinds]
        least = [float("inf")] * 2
        count = 0
        for _ in range(rounds):
            for which, one in enumerate(studies):
                calls = 0
                least[which] = min(least[which], seconds(one.simulate))
                count = max(count, calls)
        each = (least[0] - least[1]) / count * 1e6
        print(
            f"{name:18} {least[0] * 1e3:7.1f} ms, Rust {least[1] * 1e3:7.1f} ms: "
            f"{count} calls, {each:.2f} us a call, {least[0] / least[1]:.2f} times Rust"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
