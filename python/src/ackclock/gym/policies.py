"""Trained policies as controllers: with the observations, intervals and actions of environments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from .. import _ackclock
from ..controllers import Controller, PathInfo, Report
from .core import Action, Floats, seconds

Function: TypeAlias = Callable[[Floats], Any]

#: Time between a report and the action that answers it, seconds: that of the environments.
_ANSWER = 1e-9
#: Module of the classes, which none is imported from: what a class depends on is its function.
_MODULE = "ackclock_policy"


class Policy(Controller):
    """Base class of exported policies. `policy` and `onnx` make subclasses of it.

    Attributes:
        function: returns the action of an observation.
        action: output that an action changes: ``window``, ``rate`` or ``both``.
        history: number of intervals in an observation.
    """

    function: ClassVar[Function]
    action: ClassVar[Action] = "window"
    history: ClassVar[int] = 10

    def __init__(self, path: PathInfo) -> None:
        self._view = _ackclock.View(self.action, self.history, path.max_datagram_size)
        self._begun = False

    def on_interval(self, report: Report) -> None:
        """Ask the function for an action, which is due at once."""
        self._begun = self._begun or report.sent > 0
        if not self._begun:
            return
        observation: Floats = np.frombuffer(self._view.observe(report), "<f4")
        action = type(self).function(observation)
        self._view.act(np.asarray(action, "<f4").tobytes())
        self.wake = report.now + _ANSWER

    def on_timer(self, now: float) -> None:
        """Apply the action."""
        self.cwnd = self._view.cwnd
        self.pacing_rate = self._view.pacing_rate


def policy(
    function: Function,
    *,
    name: str = "policy",
    interval: float | str = "30 ms",
    action: Action = "window",
    history: int = 10,
) -> type[Policy]:
    """Return a policy as a class of controllers, for `Experiment`, `compare` and `conformance`.

    Its metrics are those of an environment whose actions are the same, to the last bit.

    Args:
        function: takes an observation of an environment, and returns an action. It must depend on
            nothing else.
        name: name in experiments.
        interval: time between two actions, as in the environment.
        action: output that an action changes, as in the environment.
        history: number of intervals in an observation, as in the environment.
    """
    if action == "none":
        message = 'action: a policy changes "window", "rate" or "both"'
        raise ValueError(message)
    attributes: dict[str, Any] = {
        "__module__": _MODULE,
        "__qualname__": name,
        "__doc__": f"A trained policy: an action each {seconds(interval)}.",
        "name": name,
        "function": staticmethod(function),
        "interval": interval,
        "action": action,
        "history": history,
    }
    return type(name, (Policy,), attributes)


class _Onnx:
    """A model as a function of an observation."""

    def __init__(self, model: bytes) -> None:
        self.model = model

    def __call__(self, observation: Floats) -> Any:
        session = _session(self.model)
        outputs = session.run(None, {session.get_inputs()[0].name: observation[np.newaxis]})
        return np.clip(outputs[0][0], -1.0, 1.0)


@functools.lru_cache(maxsize=16)
def _session(model: bytes) -> Any:
    import onnxruntime  # type: ignore[import-untyped, unused-ignore]

    options = onnxruntime.SessionOptions()
    # Sums over several threads depend on their number.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def onnx(
    model: str | Path | bytes,
    *,
    name: str = "policy",
    interval: float | str = "30 ms",
    action: Action = "window",
    history: int = 10,
) -> type[Policy]:
    """Return a model in the ONNX format as a class of controllers. ``pip install ackclock[onnx]``.

    Args:
        model: the file or its bytes. Its first input takes a batch of observations (``float32``),
            its first output has the actions.
        name: name in experiments.
        interval: time between two actions, as in the training.
        action: output that an action changes, as in the training.
        history: number of intervals in an observation, as in the training.
    """
    try:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]  # noqa: F401
    except ImportError as why:
        message = "ackclock.gym.onnx needs onnxruntime: pip install ackclock[onnx]"
        raise ImportError(message) from why
    content = model if isinstance(model, bytes) else Path(model).read_bytes()
    return policy(_Onnx(content), name=name, interval=interval, action=action, history=history)
