"""Environments for learning: a flow's controller is an agent.

The simulator pauses after each interval. The agent sees ratios of the interval and multiplies its
window or rate. Classic controllers run beside it. ``pip install ackclock[gym]`` adds what this
module needs.

>>> import ackclock as ac
>>> env = ac.gym.make("dumbbell", competitors=["cubic"], duration="3 s")
>>> observation, info = env.reset(seed=7)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
"""

from __future__ import annotations

try:
    import gymnasium
    import numpy  # noqa: F401
except ImportError as why:
    message = "ackclock.gym needs gymnasium and numpy: pip install ackclock[gym]"
    raise ImportError(message) from why

from .agents import parallel_env
from .core import FEATURES
from .interval import Interval
from .policies import Policy, onnx, policy
from .rewards import aurora, mvfst, orca, power, vivace
from .single import CongestionEnv, make
from .vector import VectorEnv

__all__ = [
    "FEATURES", "CongestionEnv", "Interval", "Policy", "VectorEnv", "aurora", "make", "mvfst",
    "onnx", "orca", "parallel_env", "policy", "power", "vivace",
]  # fmt: skip

#: Name of the environment in gymnasium's registry.
ID = "ackclock/Congestion-v0"

if ID not in gymnasium.registry:
    gymnasium.register(
        ID,
        entry_point="ackclock.gym:CongestionEnv",
        vector_entry_point="ackclock.gym:VectorEnv",
    )
