"""Several agents on one link."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("gymnasium")
pettingzoo_test = pytest.importorskip("pettingzoo.test")

import numpy as np  # noqa: E402

import ackclock as ac  # noqa: E402
from ackclock import gym  # noqa: E402

HOLD = np.zeros(1, np.float32)


@pytest.mark.parametrize("starts", [None, ["0 s", "100 ms", "1 s"]])
@pytest.mark.parametrize("transfer", [None, "300 kB"])
def test_the_interface_of_pettingzoo(starts, transfer):
    env = gym.parallel_env(agents=3, duration="2 s", starts=starts, transfer=transfer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pettingzoo_test.parallel_api_test(env, num_cycles=200)


def test_agents_come_and_go():
    env = gym.parallel_env(agents=2, duration="2 s", starts=["0 s", "1 s"])
    observations, infos = env.reset(seed=1)
    assert env.agents == ["agent_0"]
    assert set(observations) == set(infos) == {"agent_0"}
    came = None
    while env.agents:
        acting = list(env.agents)
        seen, rewards, terminated, truncated, infos = env.step(dict.fromkeys(env.agents, HOLD))
        assert set(seen) == set(rewards) == set(terminated) == set(truncated) == set(infos)
        if "agent_1" in seen and came is None:
            came = infos["agent_1"]["now"]
            assert "agent_1" not in acting
            assert rewards["agent_1"] == 0.0
    assert 1.0 < came < 1.07
    assert truncated == {"agent_0": True, "agent_1": True}
    assert terminated == {"agent_0": False, "agent_1": False}
    assert 0 < infos["agent_0"]["metrics"]["jain"] <= 1


def test_transfers_terminate_agents():
    source = ac.Experiment({
        "title": "A short and a long one", "duration": "3 s",
        "link": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 BDP"},
        "flow": [{"controller": "cubic", "transfer": "100 kB"}, {"controller": "cubic"}],
    })  # fmt: skip
    env = gym.parallel_env(source, agents=2)
    env.reset(seed=1)
    ends = {}
    while env.agents:
        _, _, terminated, truncated, infos = env.step(dict.fromkeys(env.agents, HOLD))
        for name in infos:
            if terminated[name] or truncated[name]:
                ends[name] = (infos[name]["now"], terminated[name], truncated[name])
    assert ends["agent_0"][1:] == (True, False)
    assert ends["agent_0"][0] < 2
    assert ends["agent_1"] == (3.0, False, True)


def test_a_policy_on_each_flow_has_the_metrics_of_the_environment():
    def function(seen):
        return [0.2 * (1.3 - float(seen[-7]))]

    env = gym.parallel_env(agents=3, duration="2 s", starts=["0 s", "300 ms", "605 ms"])
    seen, infos = env.reset(seed=5)
    seed = infos["agent_0"]["seed"]
    while env.agents:
        actions = {name: np.asarray(function(seen[name]), np.float32) for name in env.agents}
        seen, _, _, _, infos = env.step(actions)
    mine = gym.policy(function)
    starts = ["0 s", "300 ms", "605 ms"]
    flows = [
        {"controller": mine, "label": f"agent {number}", "start": start}
        for number, start in enumerate(starts)
    ]
    link = {"rate": "20 Mbit/s", "delay": "10 ms", "queue": "1 BDP"}
    study = ac.Experiment(
        {"title": "x", "duration": "2 s", "seed": seed, "link": link, "flow": flows}
    )
    metrics = study.simulate().metrics
    assert {name: env.metrics()[name] for name in metrics} == metrics


def test_seeds_fix_everything():
    env = gym.parallel_env(
        agents=2, duration="1 s", networks={"link.rate": ("1 Mbit/s", "9 Mbit/s")}
    )
    first, second = (env.reset(seed=3)[1]["agent_1"] for _ in range(2))
    assert first == second
    assert env.reset(seed=4)[1]["agent_1"]["network"] != first["network"]


def test_fairness_can_be_rewarded():
    def fair(interval):
        share = interval.throughput / np.maximum(interval.throughput.sum(), 1.0)
        return -np.abs(share - 1 / len(share))

    env = gym.parallel_env(agents=2, duration="1 s", reward=fair)
    env.reset(seed=1)
    _, rewards, *_ = env.step({"agent_0": np.array([1.0]), "agent_1": np.array([-1.0])})
    assert rewards["agent_0"] == pytest.approx(rewards["agent_1"])
    assert rewards["agent_0"] <= 0


def test_a_reward_of_one_number_is_that_of_each_agent():
    env = gym.parallel_env(agents=2, reward=lambda interval: 0.5, duration="1 s")
    env.reset(seed=1)
    assert env.step({})[1] == {"agent_0": 0.5, "agent_1": 0.5}
    with pytest.raises(ValueError, match="no agent agent_7"):
        env.step({"agent_7": [0.0]})
    with pytest.raises(ValueError, match=r"action of agent_1: its shape is \(2,\)"):
        env.step({"agent_1": [0.0, 0.0]})
    with pytest.raises(ac.ExperimentError, match="names one twice"):
        gym.parallel_env(agents=[0, 0])
