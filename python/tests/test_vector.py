"""Many environments in one call."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time

import pytest

pytest.importorskip("gymnasium")

import gymnasium
import numpy as np

import ackclock as ac
from ackclock import gym

RANGES = {"link.rate": ("3 Mbit/s", "20 Mbit/s"), "link.queue": ("0.5 BDP", "3 BDP")}


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_vector_is_many_environments_bit_for_bit(jobs):
    settings = {"networks": RANGES, "duration": "700 ms", "reward": gym.mvfst}
    vector = gym.VectorEnv(num_envs=5, jobs=jobs, **settings)
    single = [gym.make(**settings) for _ in range(5)]
    random = np.random.default_rng(1)
    seen, info = vector.reset(seed=10)
    for number, env in enumerate(single):
        expected, told = env.reset(seed=10 + number)
        assert seen[number].tobytes() == expected.tobytes()
        assert info["seed"][number] == told["seed"]
        assert info["network"][number] == told["network"]
    ended = np.zeros(5, bool)
    episodes = 0
    for _ in range(60):
        actions = random.uniform(-1, 1, (5, 1)).astype(np.float32)
        seen, rewards, terminated, truncated, info = vector.step(actions)
        for number, env in enumerate(single):
            if ended[number]:
                # The action is ignored in the step after the end.
                expected, told = env.reset()
                assert (rewards[number], terminated[number], truncated[number]) == (0, False, False)
                assert info["seed"][number] == told["seed"]
                assert info["_seed"][number]
            else:
                expected, reward, *end, told = env.step(actions[number])
                assert rewards[number] == reward
                assert [terminated[number], truncated[number]] == end
                if truncated[number]:
                    episodes += 1
                    assert info["metrics"][number] == told["metrics"]
                    assert info["_metrics"][number]
            assert seen[number].tobytes() == expected.tobytes()
            assert info["queue"][number] == told["queue"]
        ended = terminated | truncated
    assert episodes == 10


def test_it_says_how_it_resets():
    vector = gym.VectorEnv(num_envs=2, duration="1 s")
    assert vector.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP
    seen, _ = vector.reset(seed=1)
    assert vector.observation_space.contains(seen)
    assert vector.action_space.contains(vector.action_space.sample())
    made = gymnasium.make_vec(
        gym.ID, num_envs=3, vectorization_mode="vector_entry_point", duration="1 s"
    )
    assert isinstance(made.unwrapped, gym.VectorEnv)
    assert made.reset(seed=1)[0].shape == (3, 70)


def test_seeds():
    vector = gym.VectorEnv(num_envs=3, networks=RANGES, duration="1 s")
    first, a = vector.reset(seed=4)
    second, b = vector.reset(seed=[4, 5, 6])
    assert first.tobytes() == second.tobytes()
    assert a["seed"].tolist() == b["seed"].tolist()
    assert len(set(a["seed"].tolist())) == 3
    assert vector.reset()[1]["seed"].tolist() != a["seed"].tolist()
    with pytest.raises(ValueError, match="2 seeds"):
        vector.reset(seed=[1, 2])
    with pytest.raises(gymnasium.error.ResetNeeded):
        gym.VectorEnv(num_envs=2).step(np.zeros((2, 1), np.float32))


def _after_fork(vector, queue):
    seen, *_ = vector.step(np.zeros((4, 1), np.float32))
    queue.put(seen.tobytes())


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_it_survives_a_fork():
    vector = gym.VectorEnv(num_envs=4, duration="5 s", jobs=2)
    vector.reset(seed=1)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_after_fork, args=(vector, queue))
    child.start()
    told = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert vector.step(np.zeros((4, 1), np.float32))[0].tobytes() == told


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [1, 4])
def test_control_c_ends_a_long_step(number):
    settings = {
        "interval": "10000 s",
        "duration": "10000 s",
        "networks": {"link.rate": ["1 Gbit/s"]},
    }
    vector = gym.VectorEnv(num_envs=number, **settings)
    begun = []

    def interrupt():
        begun.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        vector.reset(seed=1)
    # CPU time of two threads, because the machine may be busy.
    assert time.process_time() - begun[0] < 0.5


def test_the_lock_is_free_meanwhile():
    vector = gym.VectorEnv(num_envs=4, interval="2 s", duration="20 s", jobs=2)
    ticks = []
    over = threading.Event()

    def tick():
        while not over.wait(0.001):
            ticks.append(time.monotonic())

    other = threading.Thread(target=tick)
    other.start()
    began = time.monotonic()
    vector.reset(seed=1)
    took = time.monotonic() - began
    over.set()
    other.join()
    inside = [at for at in ticks if began < at < began + took]
    assert took < 0.02 or len(inside) > 5


class Fails(ac.Controller):
    def on_ack(self, ack):
        if ack.now > 0.5:
            raise LookupError("as tested")


def test_a_step_that_failed_wants_a_reset():
    vector = gym.VectorEnv(num_envs=2, competitors=[Fails], duration="2 s")
    vector.reset(seed=np.int64(3))
    for _ in range(10):
        vector.step(np.zeros((2, 1), np.float32))
    wrong = gym.VectorEnv(num_envs=2, competitors=[Fails], duration="2 s", interval="1 s")
    with pytest.raises(LookupError, match="as tested"):
        wrong.reset(seed=3)
    with pytest.raises(LookupError, match="as tested"):
        [vector.step(np.zeros((2, 1), np.float32)) for _ in range(100)]
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        vector.step(np.zeros((2, 1), np.float32))
    assert vector.reset(seed=3)[0].shape == (2, 70)
