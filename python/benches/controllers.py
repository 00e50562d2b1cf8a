"""CPU time of a controller in Python beside the same one in Rust, in turns.

    python benches/controllers.py [ROUNDS]

Prints the least of all rounds: time per call of Python beyond the run in Rust, and the ratio of runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import ackclock as ac

SECONDS = 30


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
        self.packet = path.max_datagram_size

    def on_round(self, report: ac.Report) -> None:
        global calls
        calls += 1
        self.cwnd += self.packet

    def on_congestion(self, event: ac.Congestion) -> None:
        self.cwnd = max(self.cwnd / 2, 2 * self.packet)


class EveryInterval(ac.Controller):
    interval = "10 ms"

    def on_interval(self, report: ac.Report) -> None:
        global calls
        calls += 1
        self.cwnd = 250_000


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
    kinds = {
        "Rust, new-reno": ac.use("new-reno", growth="ack"),
        "Rust, fixed window": ac.use("fixed-window", window=200),
        "every ACK": EveryAck,
        "every round trip": EveryRound,
        "every 10 ms": EveryInterval,
    }
    studies = {name: study(kind) for name, kind in kinds.items()}
    least = dict.fromkeys(studies, float("inf"))
    counts = {}
    for _ in range(rounds):
        for name, one in studies.items():
            calls = 0
            least[name] = min(least[name], seconds(one.simulate))
            counts[name] = calls
    for name, time_taken in least.items():
        rust = least["Rust, new-reno"]
        more = ""
        if counts[name]:
            each = (time_taken - rust) / counts[name] * 1e6
            more = f", {counts[name]} calls, {each:.2f} us a call, {time_taken / rust:.2f} of Rust"
        print(f"{name:20} {time_taken * 1e3:7.1f} ms{more}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
