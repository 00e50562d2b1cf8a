"""Learn a controller by an evolution strategy, and judge it on networks that it has not seen.

The policy has seven numbers. A strategy of sixteen candidates a generation improves them on
networks drawn anew for each generation. The best fixed window is chosen on networks of the same
ranges. Both are then judged on other draws, beside CUBIC and BBR. Nothing is chosen on those.

    python learn.py [generations]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import ackclock as ac
from ackclock import gym

#: A path alone: 4 to 50 Mbit/s, RTT 10 to 100 ms, and 1 to 4 BDP of queue.
NETWORKS = {
    "link.rate": ("4 Mbit/s", "50 Mbit/s"),
    "link.delay": ("5 ms", "50 ms"),
    "link.queue": ("1 BDP", "4 BDP"),
}
EPISODE: dict[str, Any] = {
    "networks": NETWORKS,
    "competitors": (),
    "duration": "6 s",
    "interval": "30 ms",
    "history": 2,
}
CANDIDATES = 16
#: Seeds of the networks: each generation has its own, below those of the choice of a window, and
#: those that nobody sees before the end.
CHOICE = range(1_000_000, 1_000_064)
HELD_OUT = range(2_000_000, 2_000_128)
AT = {name: number for number, name in enumerate(gym.FEATURES)}


def features(observation: Any) -> Any:
    """Return what the policy sees, for one observation or many."""
    before, now = np.split(np.asarray(observation, np.float64), 2, axis=-1)
    rtt = np.minimum(now[..., AT["rtt_ratio"]], 3.0) - 1.0
    return np.stack(
        [
            np.ones_like(rtt),
            rtt,
            np.minimum(before[..., AT["rtt_ratio"]], 3.0) - 1.0,
            np.clip(now[..., AT["rtt_gradient"]], -1.0, 1.0),
            now[..., AT["loss_share"]],
            now[..., AT["throughput_ratio"]],
            np.minimum(now[..., AT["interval_ratio"]], 3.0),
        ],
        axis=-1,
    )


def action(weights: Any, observation: Any) -> Any:
    """Return the action of one observation or many."""
    return np.tanh((weights * features(observation)).sum(axis=-1, keepdims=True))


def rewards(env: gym.VectorEnv, seeds: list[int], weights: Any = None) -> Any:
    """Return the mean reward of each environment over an episode."""
    observation, _ = env.reset(seed=seeds)
    total, steps = np.zeros(env.num_envs), 0
    ended = np.zeros(env.num_envs, bool)
    while not ended.all():
        acts = np.zeros((env.num_envs, 1)) if weights is None else action(weights, observation)
        observation, reward, terminated, truncated, _ = env.step(acts.astype(np.float32))
        total, steps = total + reward, steps + 1
        ended = terminated | truncated
    return total / steps


def learn(generations: int, networks: int = 8) -> Any:
    """Return the weights of the policy."""
    random = np.random.default_rng(1)
    env = gym.VectorEnv(num_envs=CANDIDATES * networks, **EPISODE)
    size = len(features(np.zeros(2 * len(gym.FEATURES))))
    mean, spread = np.zeros(size), np.full(size, 0.5)
    rank = np.maximum(np.log(CANDIDATES / 2 + 0.5) - np.log(np.arange(1, CANDIDATES + 1)), 0.0)
    rank /= rank.sum()
    for generation in range(generations):
        candidates = mean + spread * random.standard_normal((CANDIDATES, size))
        seeds = [generation * networks + number for number in range(networks)] * CANDIDATES
        scores = rewards(env, seeds, np.repeat(candidates, networks, axis=0))
        scores = scores.reshape(CANDIDATES, networks).mean(axis=1)
        best = candidates[np.argsort(-scores)]
        # The new spread is that of the better half around the old mean, half of it the old one.
        spread = np.sqrt(0.5 * spread**2 + 0.5 * rank @ (best - mean) ** 2).clip(0.02)
        mean = rank @ best
        print(f"generation {generation:3}: reward {scores.mean():.3f}, best {scores.max():.3f}")
    return mean


class FixedWindow(ac.Controller):
    """A window that never moves."""

    def __init__(self, path: ac.PathInfo, packets: int = 10) -> None:
        self.cwnd = packets * path.max_datagram_size

    def on_congestion(self, event: ac.Congestion) -> None:
        """Keep the window."""


def classic(controller: Any, seeds: range) -> float:
    """Return the mean reward of a controller that is no agent."""
    env = gym.VectorEnv(num_envs=len(seeds), action="none", controller=controller, **EPISODE)
    return float(rewards(env, list(seeds)).mean())


def main() -> None:
    """Learn, choose a window, judge both."""
    generations = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    began = time.process_time()
    weights = learn(generations)
    print(f"weights {np.round(weights, 3).tolist()}, {time.process_time() - began:.0f} CPU-s")

    windows = [round(2 ** (k / 2)) for k in range(2, 19)]
    chosen = max(windows, key=lambda packets: classic(ac.use(FixedWindow, packets=packets), CHOICE))

    env = gym.VectorEnv(num_envs=len(HELD_OUT), **EPISODE)
    learned = rewards(env, list(HELD_OUT), weights)
    print(f"mean power on {len(HELD_OUT)} networks that nobody has seen:")
    print(f"  learned policy          {learned.mean():.3f}")
    window = classic(ac.use(FixedWindow, packets=chosen), HELD_OUT)
    print(f"  best fixed window ({chosen:3})  {window:.3f}")
    for name in ("cubic", "bbr3"):
        print(f"  {name:22}  {classic(name, HELD_OUT):.3f}")

    # The same policy as a controller like any other.
    learned_class = gym.policy(
        lambda observation: action(weights, observation),
        name="learned",
        interval="30 ms",
        history=2,
    )
    print(ac.compare(learned_class, "cubic", "bbr3", link="rate=20 Mbit/s rtt=40 ms queue=2 BDP"))


if __name__ == "__main__":
    main()
