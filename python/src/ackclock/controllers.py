"""Controllers that are classes of Python, with the words of the contract.

The contract is that of every controller of Ackclock: the sender counts bytes in flight, detects
losses, opens recovery periods and paces; the controller answers with a window and perhaps a rate.
"""

from __future__ import annotations

import difflib
import inspect
import types
import typing
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from . import _ackclock
from ._ackclock import (
    Ack,
    AckedPacket,
    Congestion,
    Idle,
    Lost,
    LostPacket,
    PathInfo,
    RateSample,
    Report,
    Sent,
)

__all__ = [
    "Ack",
    "AckedPacket",
    "Conformance",
    "Congestion",
    "Controller",
    "Idle",
    "Lost",
    "LostPacket",
    "PathInfo",
    "Range",
    "RateSample",
    "Report",
    "Sent",
    "Used",
    "conformance",
    "use",
]  # fmt: skip

Need = Literal["packets", "rate_samples", "receive_times", "every_receive_time", "mark_counts"]

_METHODS = (
    "on_ack", "on_round", "on_interval", "on_sent", "on_lost", "on_congestion", "on_spurious",
    "on_idle", "on_timer", "on_path_change",
)  # fmt: skip
#: Columns of time series whose names no variable may take.
_COLUMNS = frozenset(_ackclock.series_columns())
_NEEDS = frozenset(typing.get_args(Need))


class Controller(_ackclock.Controller):
    """Base class of controllers.

    A subclass overrides the methods that it needs and sets the attributes of its output. Python is
    called for overridden methods alone: ``on_ack`` costs about a microsecond for each ACK,
    ``on_round`` and ``on_interval`` almost nothing.

    The parameters are those of ``__init__`` after ``path``, each with a default. Experiments set
    them by name, and ``Annotated[float, ac.Range(0, 1)]`` limits them.

    A controller reads no clock. Its only source of randomness is ``path.seed``.

    Attributes:
        cwnd: congestion window, bytes. It may have a fraction, which the sender cuts off. It begins
            with the initial window of RFC 9002.
        pacing_rate: pacing rate in bit/s, or None: the sender spreads the window over the
            smoothed RTT.
        ssthresh: window at which slow start ends, bytes; None while no end is known, 0 outside of
            slow start. Below it the pacer may send faster.
        send_quantum: most bytes that the pacer releases at once, or None for an initial window.
        wake: time for ``on_timer``, in seconds since the start of the run, or None.

    >>> import ackclock as ac
    >>> class Aimd(ac.Controller):
    ...     '''A packet each round trip, half after a loss.'''
    ...
    ...     def __init__(self, path: ac.PathInfo, beta: float = 0.5) -> None:
    ...         self.packet, self.beta = path.max_datagram_size, beta
    ...
    ...     def on_ack(self, ack: ac.Ack) -> None:
    ...         self.cwnd += self.packet * ack.growth / self.cwnd
    ...
    ...     def on_congestion(self, event: ac.Congestion) -> None:
    ...         self.cwnd = max(self.cwnd * self.beta, 2 * self.packet)
    >>> study = ac.Experiment({
    ...     "title": "AIMD alone", "duration": "5 s",
    ...     "link": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 BDP"},
    ...     "flow": [{"controller": ac.use(Aimd, beta=0.7)}],
    ... })
    >>> 8 < study.simulate().metrics["goodput"] < 10
    True
    """

    #: Name in experiments; that of the class by default.
    name: ClassVar[str | None] = None
    #: Interval of ``on_interval``: seconds, or a text like "50 ms".
    interval: ClassVar[float | str | None] = None
    #: Attributes that become columns of the time series, with their units.
    variables: ClassVar[Mapping[str, str]] = {}
    #: Signals that cost time or that not every receiver gives. ``packets``: the list
    #: ``ack.packets``. ``rate_samples``: ``ack.rate`` and ``ack.delivery_rate``. The others:
    #: ``received`` of acknowledged packets, and ``ack.ce``.
    needs: ClassVar[Iterable[Need]] = ()
    #: Whether the controller shapes its window inside a recovery period by itself. Over TCP the
    #: sender then does not spread the reduction, as with Linux' modules that have `cong_control`.
    shapes_recovery: ClassVar[bool] = False

    def __init__(self, path: PathInfo | None = None) -> None:
        """Begin with the initial window of the path. A subclass need not call it."""

    def on_ack(self, ack: Ack) -> Literal["delay"] | None:
        """Receive an ACK that newly acknowledges something, after the losses that it revealed.

        Return ``"delay"`` to ask for a congestion event of your own.
        """

    def on_round(self, report: Report) -> Literal["delay"] | None:
        """Receive the sums of a round trip, at the ACK that ends it. Return as from ``on_ack``."""

    def on_interval(self, report: Report) -> None:
        """Receive the sums of an interval. The class sets its length, ``interval``."""

    def on_sent(self, sent: Sent) -> None:
        """Receive a packet that was sent and counts towards the window."""

    def on_lost(self, lost: Lost) -> None:
        """Receive a batch of lost packets, before the congestion event that it may cause."""

    def on_congestion(self, event: Congestion) -> None:
        """Receive a congestion event.

        Its cause is ``loss``, ``ecn`` or ``delay``, at most once per round trip, or
        ``persistent_congestion`` or ``timeout``. The window is to shrink.
        """

    def on_spurious(self) -> None:
        """Learn that the last congestion event was spurious: all its packets arrived."""

    def on_idle(self, idle: Idle) -> None:
        """Learn that the sender sends again after an idle time longer than its timeout."""

    def on_timer(self, now: float) -> None:
        """Learn that the time ``wake`` has come. It is None now."""

    def on_path_change(self, path: PathInfo) -> None:
        """Learn that the size of datagrams changed. Window and estimates keep their bytes."""

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, Any], tuple[Any, ...]]:
        members = (item for base in type(self).__mro__ for item in vars(base).items())
        names = [name for name, kind in members if isinstance(kind, types.MemberDescriptorType)]
        slots = {name: getattr(self, name) for name in names if hasattr(self, name)}
        output = (self.cwnd, self.pacing_rate, self.ssthresh, self.send_quantum, self.wake)
        return dict(self.__dict__), slots, output

    def __setstate__(self, state: tuple[dict[str, Any], dict[str, Any], tuple[Any, ...]]) -> None:
        attributes, slots, output = state
        self.__dict__.update(attributes)
        for name, value in slots.items():
            setattr(self, name, value)
        self.cwnd, self.pacing_rate, self.ssthresh, self.send_quantum, self.wake = output


@dataclass(frozen=True)
class Range:
    """Allowed values of a parameter, both ends included: ``Annotated[float, ac.Range(0, 1)]``.

    Attributes:
        low: smallest value; None for no limit.
        high: largest value; None for no limit.
        doc: meaning and unit of the parameter.
    """

    low: float | None = None
    high: float | None = None
    doc: str = ""


@dataclass(frozen=True)
class Used:
    """A controller with parameters, made by `use`."""

    controller: type[Controller] | str
    parameters: Mapping[str, Any]


def use(controller: type[Controller] | str, /, **parameters: Any) -> Used:
    """Return a controller with parameters, for an experiment or a question.

    Args:
        controller: a class, or the name of a shipped controller.
        parameters: its parameters, with the underscores of Python; ``label`` names it in tables.
    """
    if not (isinstance(controller, str) or _is_controller(controller)):
        message = (
            f"{controller!r}: give a subclass of ackclock.Controller, or the name of a controller"
        )
        raise TypeError(message)
    if "name" in parameters:
        message = "use: the controller has its name; write label=... for another in tables"
        raise TypeError(message)
    return Used(controller, parameters)


#: Entries that are in use, each with the properties of the class that it was made of.
_classes: weakref.WeakKeyDictionary[type, tuple[object, weakref.ref[_ackclock.Class]]]
_classes = weakref.WeakKeyDictionary()

#: Outputs, which a class must not hide with attributes of its own.
_OUTPUTS = ("cwnd", "pacing_rate", "ssthresh", "send_quantum", "wake")


def registered(controller: type[Controller]) -> _ackclock.Class:
    """Return the class as it is now, as an entry of the registry."""
    described = _described(controller)
    before, entry = _classes.get(controller, (None, None))
    known = entry() if entry is not None and before == described else None
    if known is None:
        known = _ackclock.Class(controller, *described)
        _classes[controller] = (described, weakref.ref(known))
    return known


def _is_controller(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, Controller)


def _name(controller: type[Controller]) -> str:
    return controller.__dict__.get("name") or controller.__name__


def _described(controller: type[Controller]) -> tuple[Any, ...]:
    """Return the properties of a class that decide how it is called."""
    if not _is_controller(controller):
        message = f"{controller!r} is no subclass of ackclock.Controller; give the class"
        raise TypeError(message)
    name = _name(controller)
    if not isinstance(name, str):
        message = f"{controller.__name__}.name: {name!r} is no text"
        raise TypeError(message)
    if name.lower() in _ackclock.controllers().column("name"):
        message = (
            f"{name}: a shipped controller has this name; set another, as in name = 'my-{name}'"
        )
        raise ValueError(message)
    methods = {
        name for name in _METHODS if getattr(controller, name) is not getattr(Controller, name)
    }
    # Mixins before the base class as well.
    own = controller.__mro__[: controller.__mro__.index(Controller)]
    for output in _OUTPUTS:
        if any(output in vars(base) for base in own):
            message = (
                f"{name}.{output} is an attribute of the class; set `self.{output}` in __init__"
            )
            raise TypeError(message)
    written = {key for base in own for key in vars(base) if key.startswith("on_")}
    for wrong in sorted(written - set(_METHODS)):
        for right in difflib.get_close_matches(wrong, _METHODS, 1, 0.75):
            message = f"{name}.{wrong} would never be called; did you mean {right}?"
            raise TypeError(message)
    if not methods:
        message = f"{name} overrides none of {', '.join(_METHODS)}"
        raise TypeError(message)
    needs = {controller.needs} if isinstance(controller.needs, str) else set(controller.needs)
    if not needs <= _NEEDS:
        wrong = ", ".join(sorted(needs - _NEEDS))
        message = f"{name}.needs: unknown: {wrong}; known: {', '.join(sorted(_NEEDS))}"
        raise ValueError(message)
    interval = controller.interval
    if ("on_interval" in methods) != (interval is not None):
        message = f"{name}: `interval` and `on_interval` need one another"
        raise TypeError(message)
    if isinstance(interval, (int, float)):
        interval = f"{interval} s"
    doc = (inspect.getdoc(controller) or "").split("\n")[0] or "A class of Python."
    parameters = list(parameters_of(controller))
    if not isinstance(controller.variables, Mapping):
        message = f"{name}.variables: write names with units, as in {{'gain': '', 'rtt': 'ms'}}"
        raise TypeError(message)
    variables = list(controller.variables.items())
    for variable, _ in variables:
        if variable in _COLUMNS or not variable.isidentifier() or not variable.islower():
            message = f"{name}.variables: {variable!r} is taken or no name in lower case; rename it"
            raise ValueError(message)
    shapes = controller.shapes_recovery
    return name, doc, methods, parameters, variables, interval, needs, shapes


def parameters_of(controller: type[Controller]) -> Iterable[tuple[str, str, Any, Any]]:
    """Yield name, description, range and default of each parameter."""
    init = controller.__init__
    if init is Controller.__init__ or init is object.__init__:
        return
    signature = list(inspect.signature(init).parameters.values())[1:]
    first, listed = next(iter(signature), None), signature[1:]
    takes_path = first is not None and (
        first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)
        and (first.default is first.empty or first.default is None)
    )
    if not takes_path and (first is None or first.kind is not first.VAR_POSITIONAL):
        message = (
            f"{controller.__name__}.__init__: the first parameter is the path; write "
            f"`def __init__(self, path, ...)`, or `path` as the first field of a dataclass"
        )
        raise TypeError(message)
    try:
        hints = typing.get_type_hints(init, include_extras=True)
    except NameError as why:
        message = f"{controller.__name__}.__init__: its annotations cannot be read: {why}"
        raise TypeError(message) from why
    # A class that travels by value leaves behind the names that only annotations use.
    init.__annotations__ = hints
    for parameter in listed:
        where = f"{controller.__name__}.__init__: {parameter.name}"
        if parameter.name in ("name", "label"):
            message = f"{where} is a word of experiments; choose another name"
            raise TypeError(message)
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        default = parameter.default
        if default is parameter.empty or not isinstance(default, (bool, int, float, str)):
            message = f"{where} needs a default that is a number, a text, True or False"
            raise TypeError(message)
        hint = hints.get(parameter.name)
        limits = [given for given in getattr(hint, "__metadata__", ()) if isinstance(given, Range)]
        hint = getattr(hint, "__origin__", hint)
        if hint is float and not isinstance(default, bool):
            default = float(default)
        bounds = (limits[0].low, limits[0].high) if limits else None
        yield parameter.name, limits[0].doc if limits else "", bounds, default


@dataclass(frozen=True)
class Conformance:
    """Verdict of the conformance suite.

    Attributes:
        rules: each group of rules with None, or with the shortest failing script found.
    """

    name: str
    rules: dict[str, str | None]

    @property
    def passes(self) -> bool:
        """Whether every rule holds."""
        return not any(self.rules.values())

    def __str__(self) -> str:
        lines = [f"{self.name}: {'every rule holds' if self.passes else 'rules are broken'}"]
        for rule, failure in self.rules.items():
            lines.append(f"  {'fails' if failure else 'holds'}  {rule}")
            lines += [f"         {failure}"] if failure else []
        return "\n".join(lines)

    __repr__ = __str__


def conformance(controller: type[Controller]) -> Conformance:
    """Check a class against the rules that every controller must obey.

    The suite plays random scripts of ACKs, losses, timeouts and changes of the path, and shortens
    each script that breaks a rule. Controllers that set ``pacing_rate`` are free of the rules about
    the window, because they derive it from a model.

    Raises:
        Exception: the controller's own exception, if one of its methods raises it.
    """
    entry = registered(controller)
    return Conformance(entry.name, dict(_ackclock.conformance(entry)))
