"""The environment with one agent, rewards, networks, and exported policies."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("gymnasium")

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

import ackclock as ac
from ackclock import gym

LINK = {"rate": "20 Mbit/s", "delay": "10 ms", "queue": "1 BDP"}


def lookahead(observation):
    """Return an action that holds the RTT at 1.25 times the smallest."""
    return [0.3 * (1.25 - float(observation[-7]))]


def played_on(env):
    """Play to the end without changes."""
    while True:
        env.step(np.zeros(1, np.float32))


def both(observation):
    """Return an action of two numbers."""
    return [0.1 * math.sin(float(observation[-7])), 0.3 * (1.1 - float(observation[-7]))]


def played(env, function, seed):
    """Play an episode. Return its rows, the last observation, and what the end says."""
    observation, info = env.reset(seed=seed)
    rows, ended = [], (False, False)
    begun = info
    while not any(ended):
        action = np.asarray(function(observation), np.float32)
        observation, reward, *ended, info = env.step(action)
        rows.append((reward, observation.copy(), {k: v for k, v in info.items() if k != "metrics"}))
    return begun, rows, ended, info


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("action", ["window", "rate", "both", "none"])
def test_check_env_passes_without_warnings(action):
    env = gymnasium.make(gym.ID, action=action, duration="1 s", disable_env_checker=True)
    check_env(env.unwrapped)


def test_a_seed_fixes_everything():
    ranges = {"link.rate": ("3 Mbit/s", "50 Mbit/s"), "link.queue": ["0.5 BDP", "2 BDP"]}
    env = gym.make(networks=ranges, duration="1 s")
    first, second = (played(env, lookahead, 5) for _ in range(2))
    assert first[0] == second[0]
    for a, b in zip(first[1], second[1], strict=True):
        assert a[0] == b[0]
        assert a[1].tobytes() == b[1].tobytes()
        assert a[2] == b[2]
    assert first[3]["metrics"] == second[3]["metrics"]
    assert played(env, lookahead, 6)[0]["network"] != first[0]["network"]
    # Without a seed, the next episode is another one.
    networks = [env.reset()[1]["network"]["link.rate"] for _ in range(3)]
    assert len(set(networks)) == 3


def experiment(controller, seed, duration="2 s", **flow):
    return ac.Experiment(
        {
            "title": "A policy", "duration": duration, "seed": seed, "link": LINK,
            "flow": [{"controller": controller, "label": "agent", **flow}, {"controller": "cubic"}],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "action", "interval"),
    [
        (lookahead, "window", "30 ms"),
        # An interval whose ends meet ACKs to the nanosecond is no exception.
        (lookahead, "window", "1035200 ns"),
        (lookahead, "rate", "20 ms"),
        (both, "both", "45 ms"),
    ],
)
def test_a_policy_has_the_metrics_of_the_environment(function, action, interval):
    env = gym.make(action=action, interval=interval, duration="2 s")
    begun, _, _, info = played(env, function, 3)
    mine = gym.policy(function, action=action, interval=interval)
    run = experiment(mine, begun["seed"]).simulate()
    assert len(run.metrics) > 60
    assert {name: info["metrics"][name] for name in run.metrics} == run.metrics


def test_looking_disturbs_nothing():
    # The flow keeps its controller, and the pauses change no metric.
    env = gym.make(action="none", controller="bbr3", interval="7 ms", duration="2 s")
    begun, _, _, info = played(env, lambda _: [1.0], 4)
    run = experiment("bbr3", begun["seed"]).simulate()
    assert {name: info["metrics"][name] for name in run.metrics} == run.metrics


def test_a_late_flow_and_a_policy_agree():
    source = experiment("cubic", 1, start="305 ms")
    env = gym.make(source)
    begun, _, _, info = played(env, lookahead, 3)
    run = experiment(gym.policy(lookahead), begun["seed"], start="305 ms").simulate()
    assert {name: info["metrics"][name] for name in run.metrics} == run.metrics


def test_actions_act_in_the_next_interval():
    env = gym.make(
        competitors=(), interval="100 ms", duration="2 s", networks={"link.rate": ["100 Mbit/s"]}
    )
    _, info = env.reset(seed=1)
    assert info["now"] == pytest.approx(0.1)
    window = info["cwnd"]
    for action in (1.0, 1.0, -1.0, 0.5):
        _, _, _, _, info = env.step(np.array([action], np.float32))
        assert info["cwnd"] == pytest.approx(window * 2.0**action, abs=1.0)
        window *= 2.0**action
        # 100 Mbit/s is never full with these windows: each round trip carries one of them.
        carried = info["acked"] / (0.1 / info["min_rtt"])
        assert carried == pytest.approx(window, rel=0.35)
    assert info["now"] == pytest.approx(0.5)
    assert info["duration"] == pytest.approx(0.1)


def test_intervals_add_up():
    # No ACK is counted twice or in a later interval.
    env = gym.make(competitors=(), duration="2 s")
    _, begun = env.reset(seed=2)
    rows = [begun]
    while rows[-1]["now"] < 1.9999:
        rows.append(env.step(np.zeros(1, np.float32))[4])
    assert [row["now"] for row in rows] == pytest.approx(
        [0.03 * (i + 1) for i in range(66)] + [2.0]
    )
    assert rows[-1]["duration"] == pytest.approx(0.02)
    sent, acked, lost = (sum(row[name] for row in rows) for name in ("sent", "acked", "lost"))
    assert sent - acked - lost == rows[-1]["bytes_in_flight"]
    assert rows[-1]["delivered"] <= sent


def test_terminated_and_truncated():
    _, rows, ended, info = played(gym.make(duration="1 s"), lookahead, 1)
    assert ended == [False, True]
    assert len(rows) == 33
    assert "metrics" in info
    env = gym.make(transfer="500 kB", duration="20 s")
    _, rows, ended, info = played(env, lookahead, 1)
    assert ended == [True, False]
    assert info["now"] < 10
    assert info["duration"] <= 0.0300001
    assert info["delivered"] == 500_000
    assert sum(row[2]["acked"] for row in rows) > 480_000
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1, np.float32))
    env = gym.make(competitors=(), transfer="500 kB", duration="20 s")
    *_, info = played(env, lookahead, 1)
    assert env.metrics()["completion"] == pytest.approx(info["now"], rel=1e-6)


def test_mistakes_say_what_to_write():
    with pytest.raises(ac.ExperimentError, match="list of values"):
        gym.make(networks={"link.rate": "1 Mbit/s"})
    with pytest.raises(ac.ExperimentError, match="same unit"):
        gym.make(networks={"link.queue": ("1 BDP", "10 ms")})
    with pytest.raises(ac.ExperimentError, match="above 0"):
        gym.make(networks={"link.rate": ("10 Mbit/s", "1 Mbit/s")})
    with pytest.raises(ac.ExperimentError, match="drops every full packet"):
        gym.make(networks={"link.rate": ("100 kbit/s", "4 Mbit/s")})
    with pytest.raises(ac.ExperimentError, match="own flows"):
        gym.make(experiment("cubic", 1), competitors=["cubic"])
    with pytest.raises(ac.ExperimentError, match=r"is not a key|unknown|cannot be set"):
        gym.make(networks={"link.rat": ("1 Mbit/s", "2 Mbit/s")})
    with pytest.raises(ValueError, match="no flow 7"):
        gym.make(experiment("cubic", 1), agent=7).reset()
    with pytest.raises(ValueError, match='not "window"'):
        gym.make(action="windows")
    with pytest.raises(ValueError, match="unit"):
        gym.make(interval="30 mss")
    env = gym.make(duration="1 s")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="finite"):
        env.step(np.array([np.nan], np.float32))
    with pytest.raises(ValueError, match="shape"):
        env.step(np.zeros(2, np.float32))


def test_networks():
    env = gym.make(duration="1 s", networks=["lte", {"link.rate": ("1000 kbit/s", "4 Mbit/s")}])
    seen = [env.reset(seed=seed)[1] for seed in range(40)]
    rates = [info["link_rate"] for info in seen if "link.rate" in info["network"]]
    assert {info["link_rate"] for info in seen if info["network"] == {"network": "lte"}} == {18e6}
    assert 8 <= len(rates) <= 32
    assert all(1e6 <= rate <= 4e6 for rate in rates)
    # Half of them lie below the geometric mean.
    assert 0.2 < sum(rate < math.sqrt(1e6 * 4e6) for rate in rates) / len(rates) < 0.8
    assert (
        env.reset(seed=1, options={"network": {"link.rate": ["3 Mbit/s"]}})[1]["link_rate"] == 3e6
    )
    with pytest.raises(ac.ExperimentError, match="give a dict"):
        gym.make(experiment("cubic", 1), networks="lte")
    content = {"title": "x", "duration": "1 s", "link": LINK, "flow": [{"controller": "cubic"}]}
    assert gym.make(content, networks="lte").reset(seed=1)[1]["link_rate"] == 18e6
    other = ac.Experiment({"title": "x", "duration": "1 s", "link": {**LINK, "rate": "7 Mbit/s"},
                           "flow": [{"controller": "cubic"}]})  # fmt: skip
    assert env.reset(options={"network": other})[1]["link_rate"] == 7e6


def interval(**columns):
    rows = np.zeros((1, len(gym.interval.COLUMNS)))
    for name, value in columns.items():
        rows[0, gym.interval.COLUMNS.index(name)] = value
    return gym.Interval(rows)


def test_rewards_against_closed_forms():
    # 10 Mbit/s sent, 8 Mbit/s acknowledged, 1 Mbit/s lost for 100 ms.
    one = interval(
        duration=0.1, sent=125_000, acked=100_000, lost=12_500, mean_rtt=0.06, min_rtt=0.04,
        rtt_gradient=0.002, link_rate=16e6, base_rtt=0.03,
    )  # fmt: skip
    assert one.throughput[0] == pytest.approx(8e6)
    assert one.loss[0] == pytest.approx(1 / 9)
    assert gym.power(one)[0] == pytest.approx(0.5 * 0.5)
    assert gym.orca(one)[0] == pytest.approx((8e6 - 5 * 1e6) / 16e6 * 1.25 * 0.04 / 0.06)
    assert gym.aurora(one)[0] == pytest.approx(10 * 8e6 / 12_000 - 1000 * 0.06 - 2000 / 9)
    assert gym.vivace(one)[0] == pytest.approx(10**0.9 - 900 * 10 * 0.002 - 11.35 * 10 / 9)
    expected = math.log(1 + 1e6) - 100 * math.log(1.02) - 2 * math.log(12_501)
    assert gym.mvfst(one)[0] == pytest.approx(expected)
    # A full link and an empty queue are the best there is.
    best = interval(duration=1, acked=1e6, mean_rtt=0.1, min_rtt=0.1, link_rate=8e6, base_rtt=0.1)
    assert gym.power(best)[0] == gym.orca(best)[0] == pytest.approx(1)


def test_observations_are_ratios_of_the_interval():
    env = gym.make(duration="2 s", history=3)
    observation, _ = env.reset(seed=1)
    assert observation.shape == (3 * len(gym.FEATURES),)
    assert not observation[:14].any()
    for _ in range(20):
        observation, _, _, _, info = env.step(np.array([0.2], np.float32))
        now = dict(zip(gym.FEATURES, observation[-7:].tolist(), strict=True))
        assert now["rtt_ratio"] == pytest.approx(info["mean_rtt"] / info["min_rtt"], rel=1e-6)
        assert now["rtt_gradient"] == pytest.approx(info["rtt_gradient"], rel=1e-5)
        assert now["send_ratio"] == pytest.approx(info["sent"] / info["acked"], rel=1e-6)
        loss = info["lost"] / (info["acked"] + info["lost"])
        assert now["loss_share"] == pytest.approx(loss, rel=1e-6)
        assert now["interval_ratio"] == pytest.approx(0.03 / info["min_rtt"], rel=1e-6)
    before = observation
    observation, *_ = env.step(np.zeros(1, np.float32))
    assert observation[:14].tobytes() == before[7:].tobytes()


def test_a_competitor_of_python_and_its_exception():
    class Mine(ac.Controller):
        """Raises after a second."""

        def on_ack(self, ack):
            if ack.now > 1.0:
                message = "a line of the user"
                raise RuntimeError(message)

    env = gym.make(competitors=[Mine], duration="2 s")
    env.reset(seed=1)
    for _ in range(20):
        env.step(np.zeros(1, np.float32))
    with pytest.raises(RuntimeError, match="a line of the user"):
        played_on(env)
    observation, _ = env.reset(seed=1)
    assert observation.any()


def test_a_policy_is_a_controller():
    rules = ac.conformance(gym.policy(lookahead, action="rate")).rules
    broken = [rule for rule, failure in rules.items() if failure]
    # A timer enlarges the window, which the contract allows to controllers with a rate alone.
    assert set(broken) == {"timers"}
    assert gym.policy(lookahead).__name__ == "policy"
    from ackclock.identity import identity

    a, b = (np.ones(3) * factor for factor in (1, 2))
    first, second, again = (gym.policy(lambda seen, w=w: [w @ seen[:3]]) for w in (a, b, a.copy()))
    assert identity([first]) != identity([second])
    assert identity([first]) == identity([again])
    with pytest.raises(ValueError, match="window"):
        gym.policy(lookahead, action="none")


def test_onnx_policies_are_those_of_the_function():
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    weights = np.zeros((70, 1), np.float32)
    weights[63] = -0.25
    node = helper.make_node("Gemm", ["seen", "weights", "bias"], ["action"])
    graph = helper.make_graph(
        [node],
        "policy",
        [helper.make_tensor_value_info("seen", TensorProto.FLOAT, ["batch", 70])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", 1])],
        [numpy_helper.from_array(weights, "weights"),
         numpy_helper.from_array(np.array([0.375], np.float32), "bias")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    mine = gym.onnx(model.SerializeToString(), name="trained")

    def function(seen):
        return [np.float32(0.375) - np.float32(0.25) * seen[63]]

    a, b = (experiment(one, 5).simulate().metrics for one in (mine, gym.policy(function)))
    # The labels are equal, so are the names of metrics.
    assert a == b


def test_the_package_needs_gymnasium_only_for_environments():
    code = """
import sys
import ackclock
assert not {"numpy", "gymnasium", "pettingzoo"} & set(sys.modules)
sys.modules["gymnasium"] = None
try:
    ackclock.gym
except ImportError as why:
    assert "pip install ackclock[gym]" in str(why), why
else:
    raise SystemExit("imported")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_experiment_of_a_policy_can_be_copied():
    study = experiment("cubic", 1)
    assert pickle.loads(pickle.dumps(study)).title == "A policy"


def test_stable_baselines():
    sb3 = pytest.importorskip("stable_baselines3")
    env = gym.make(duration="2 s")
    model = sb3.PPO("MlpPolicy", env, n_steps=64, batch_size=64, seed=1)
    model.learn(128)
    mine = gym.policy(lambda seen: model.predict(seen, deterministic=True)[0])
    assert experiment(mine, 1).simulate().metrics["goodput of agent"] > 0


def test_a_refused_action_leaves_the_episode() -> None:
    env = gym.make("dumbbell", duration="1 s")
    env.reset(seed=1)
    same = gym.make("dumbbell", duration="1 s")
    same.reset(seed=1)
    for wrong in (np.array([np.nan]), np.array([1.0, 2.0]), np.array([np.inf])):
        with pytest.raises(ValueError, match=r"action"):
            env.step(wrong)
    action = np.array([0.5], np.float32)
    assert np.array_equal(env.step(action)[0], same.step(action)[0])


def test_episodes_that_end_before_an_agent_can_act() -> None:
    with pytest.raises(ac.ExperimentError, match="within its first interval"):
        gym.make("dumbbell", transfer="2 kB", interval="500 ms").reset(seed=1)
    envs = gym.VectorEnv("dumbbell", num_envs=2, transfer="2 kB", interval="500 ms")
    with pytest.raises(ac.ExperimentError, match="within its first interval"):
        envs.reset(seed=1)


def test_what_is_no_action_is_refused():
    env = gym.make(duration="1 s")
    env.reset(seed=1)
    vector = gym.VectorEnv(num_envs=3, action="both", duration="1 s")
    vector.reset(seed=1)
    for one, wrong in [
        (env, None), (env, [0.0, 0.0]), (env, [[0.0]] * 2),
        (vector, None), (vector, np.zeros((2, 3))), (vector, np.zeros(6)), (vector, [0.0]),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="action"):
            one.step(wrong)
    # The episodes are as they were.
    assert not env.step([0.1])[3]
    assert not vector.step(np.zeros((3, 2)))[3].any()


def test_the_time_of_a_flow_is_over():
    env = gym.make(experiment("cubic", 1, stop="500 ms"))
    *_, ended, _ = played(env, lookahead, 3)
    assert ended == [False, True]


def test_metrics_after_the_last_agent():
    env = gym.make(transfer="100 kB", duration="3 s")
    _, rows, ended, info = played(env, lookahead, 3)
    assert ended == [True, False]
    assert rows[-1][2]["now"] < 3
    assert "metrics" not in info
    metrics = env.metrics()
    assert metrics == env.metrics()
    # CUBIC went on to the end.
    assert metrics["goodput of cubic"] > 10


@pytest.mark.parametrize("agents", [{"agent": 1}, {"agent": 7}])
def test_agents_of_the_dumbbell_are_its_first_flows(agents):
    with pytest.raises(ac.ExperimentError, match="first flows"):
        gym.make(**agents)
    with pytest.raises(ac.ExperimentError, match="first flows"):
        gym.VectorEnv(num_envs=1, **agents)


def test_the_network_that_was_drawn_has_a_name():
    env = gym.make(networks=["lte", "policer"], duration="1 s")
    names = {env.reset(seed=seed)[1]["network"]["network"] for seed in range(8)}
    assert names == {"lte", "policer"}
