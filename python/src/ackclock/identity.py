"""Identity of controllers in Python: what decides their results, as a digest.

Results of a study are found again by its file, by the program and by this digest. It covers the
compiled code of a class, and all that this code names: functions, classes, values, and the sources
of modules. Where something cannot be known, there is no digest, and results are not used again.
"""

from __future__ import annotations

import collections
import datetime
import enum
import fractions
import functools
import hashlib
import logging
import re
import struct
import sys
import types
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any

from .controllers import Controller, parameters_of
from .outside import UnknownError, is_of_library, names_in, refuse_names, refuse_outside, version_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range)
#: Classes of values that others extend, with what their objects have.
_BASES: dict[type, Callable[[Any], object]] = {
    int: int.__repr__, float: float.__repr__, complex: complex.__repr__,
    str: str.__str__, bytes: bytes.__repr__,
    tuple: lambda value: list(tuple.__iter__(value)),
    list: lambda value: list(list.__iter__(value)),
    dict: lambda value: dict(dict.items(value)),
    set: frozenset, frozenset: frozenset,
    collections.deque: lambda value: (value.maxlen, list(value)),
}  # fmt: skip
#: Containers whose items are their state, and for one the factory of its default.
_CONTAINERS = (collections.OrderedDict, collections.Counter, collections.defaultdict)
#: Values whose text is all of them.
_SHOWN = (
    Decimal, fractions.Fraction, PurePath, type(re.compile("")),
    datetime.timedelta, datetime.date, datetime.time, datetime.timezone,
)  # fmt: skip
#: Bytes of a pointer.
_WORD = struct.calcsize("P")
#: Attributes of a class that no method can depend on, or that others say as well.
_IGNORED = {
    "__dict__",
    "__doc__",
    "__weakref__",
    "__module__",
    "__firstlineno__",
    "__static_attributes__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__match_args__",
    "__annotations__",
    "__annotate__",
    "__annotate_func__",
    "__annotations_cache__",
    "__abstractmethods__",
    "_abc_impl",
    "__slots__",
    "__slotnames__",
}


class _Digest:
    def __init__(self) -> None:
        self._sha = hashlib.sha256(sys.version.encode())
        self._seen: dict[int, tuple[int, object]] = {}

    def text(self) -> str:
        return self._sha.hexdigest()

    def put(self, *words: object) -> None:
        self._sha.update(repr(words).encode("utf-8", "surrogatepass"))

    def add(self, value: Any) -> None:
        """Add an object and all that it depends on."""
        kind = type(value)
        if kind in _PLAIN:
            self.put("plain", kind.__name__, value)
            return
        if id(value) in self._seen:
            self.put("seen", self._seen[id(value)][0])
            return
        self._seen[id(value)] = (len(self._seen), value)
        refuse_outside(value)
        if kind in (tuple, list):
            self.put(kind.__name__, len(value))
            self._all(value)
        elif kind is dict:
            self.put("dict", len(value))
            self._all(part for item in value.items() for part in item)
        elif kind in (set, frozenset):
            self._set(value)
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, _SHOWN) and is_of_library(kind.__module__):
            self.put("shown", kind.__module__, kind.__qualname__, repr(value))
        elif isinstance(value, enum.Enum):
            self.put("member", value.name)
            self._all((kind, {k: v for k, v in vars(value).items() if not k.startswith("__")}))
        else:
            self._wrapper(value)

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def _set(self, values: Iterable[Any]) -> None:
        texts = []
        for value in values:
            if type(value) not in (*_PLAIN, tuple):
                message = f"the order of a set with {value!r:.60}"
                raise UnknownError(message)
            texts.append(repr(value))
        self.put("set", sorted(texts))

    def _wrapper(self, value: Any) -> None:
        """Add what wraps a function, or a method of an object."""
        if isinstance(value, (staticmethod, classmethod)):
            self.put(type(value).__name__)
            self.add(value.__func__)
        elif isinstance(value, property):
            self.put("property")
            self._all((value.fget, value.fset, value.fdel))
        elif isinstance(value, functools.cached_property):
            self.put("cached property")
            self.add(value.func)
        elif isinstance(value, functools.partial):
            self.put("partial")
            self._all((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self.put("method")
            self._all((value.__self__, value.__func__))
        elif hasattr(value, "cache_parameters") and hasattr(value, "__wrapped__"):
            self.put("cache")
            self.add(value.__wrapped__)
        elif hasattr(value, "__qualname__") and not isinstance(value, type) and callable(value):
            # A function that is not written in Python, perhaps of an object.
            self.put("builtin", getattr(value, "__module__", None), value.__qualname__)
            owner = getattr(value, "__self__", None)
            if owner is not None and not isinstance(owner, types.ModuleType):
                self.add(owner)
        else:
            self._object(value)

    def _code(self, code: types.CodeType) -> None:
        self.put("code", code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars)
        self.put(code.co_argcount, code.co_kwonlyargcount, code.co_flags)
        self.put(getattr(code, "co_exceptiontable", b""))
        self._all(code.co_consts)

    def _function(self, function: types.FunctionType) -> None:
        if is_of_library(function.__module__):
            self._installed(function.__module__, function.__qualname__)
            return
        self.put("function", function.__qualname__)
        self._all((function.__code__, function.__defaults__, function.__kwdefaults__))
        attributes = {k: v for k, v in function.__dict__.items() if not k.startswith("__")}
        self.add(attributes)
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self.put("empty cell")
        used, imported, attributes_used = names_in(function.__code__)
        refuse_names(used | attributes_used, function.__qualname__)
        for name in sorted(used & function.__globals__.keys()):
            self.put("global", name)
            self.add(function.__globals__[name])
        for name in sorted(imported):
            if name not in sys.modules:
                message = f"the module {name}, which {function.__qualname__} imports"
                raise UnknownError(message)
            self.put("imported", name)
            self.add(sys.modules[name])

    def _class(self, given: type) -> None:
        if is_of_library(given.__module__):
            self._installed(given.__module__, given.__qualname__)
            return
        self.put("class", given.__qualname__)
        self._all((type(given), given.__bases__))
        # Classes that travel by value have another order.
        for name, value in sorted(given.__dict__.items()):
            is_slot = isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType))
            if name not in _IGNORED and not is_slot:
                self.put("attribute", name)
                self.add(value)

    def _module(self, module: types.ModuleType) -> None:
        if is_of_library(module.__name__):
            self._installed(module.__name__, "")
            return
        file = getattr(module, "__file__", None)
        if file is None or not file.endswith(".py"):
            message = f"the source of the module {module.__name__}"
            raise UnknownError(message)
        self.put("module", module.__name__, hashlib.sha256(Path(file).read_bytes()).hexdigest())
        # Its source is not all: values may have changed since it was imported.
        for name, value in sorted(vars(module).items()):
            if name.isidentifier() and not (name.startswith("__") and name.endswith("__")):
                self.put("name", name)
                self.add(value)

    def _installed(self, module: str, name: str) -> None:
        """Add a name of the standard library or of an installed package, with its version."""
        self.put("installed", module, name, version_of(module.split(".")[0]))

    def _object(self, value: Any) -> None:
        """Add an array, or an object by its class and all of its state."""
        kind = type(value)
        self.put("object", kind.__qualname__)
        if kind.__module__ in ("numpy", "array", "builtins") and not isinstance(
            value, tuple(_BASES)
        ):
            self._array(value)
            return
        if isinstance(value, logging.Logger):
            # What is logged decides no result.
            return
        self.add(kind)
        self._all((slot, state) for slot, state in _state(value))
        for base, content in _BASES.items():
            if isinstance(value, base):
                self.put("base", base.__name__)
                self.add(content(value))
        for shown in _SHOWN:
            if isinstance(value, shown):
                self.put("base", shown.__name__, shown.__repr__(value))

    def _array(self, value: Any) -> None:
        """Add the elements of an array."""
        try:
            view = memoryview(value)
        except (TypeError, ValueError):
            message = f"{type(value).__name__} {value!r:.80}"
            raise UnknownError(message) from None
        self.put(view.format, view.shape)
        if view.format.endswith("O"):
            # The bytes of objects are their addresses.
            self.add(value.tolist())
        else:
            self._sha.update(view.tobytes())


def _state(value: Any) -> Iterable[tuple[str, Any]]:
    """Yield the attributes of an object, in its dict and in slots.

    Raises:
        UnknownError: the object has more than these, as those of classes in C.
    """
    kind = type(value)
    if isinstance(value, collections.defaultdict):
        yield "default_factory", value.default_factory
    known = (object, types.SimpleNamespace, *_BASES, *_CONTAINERS, *_SHOWN)
    for base in kind.__mro__:
        if base in known:
            continue
        slots = [
            slot for slot in vars(base).values() if isinstance(slot, types.MemberDescriptorType)
        ]
        words = len(slots) + sum(name in vars(base) for name in ("__dict__", "__weakref__"))
        before = base.__base__.__basicsize__ if base.__base__ is not None else 0
        if base.__basicsize__ - before > words * _WORD or _reduces_itself(base):
            message = f"the state of {kind.__name__} {value!r:.80}"
            raise UnknownError(message)
        for slot in slots:
            try:
                yield f"{base.__qualname__}.{slot.__name__}", slot.__get__(value, kind)
            except AttributeError:
                yield f"{base.__qualname__}.{slot.__name__}", "not set"
    yield "attributes", dict(getattr(value, "__dict__", {}))


def _reduces_itself(base: type) -> bool:
    """Report whether a class says how its objects are stored, as if they had other state."""
    return "__reduce__" in vars(base) or "__reduce_ex__" in vars(base)


def identified(classes: Iterable[type]) -> tuple[str | None, str]:
    """Return the digest of these classes and of what they use, or None and what is not known."""
    digest = _Digest()
    try:
        for given in classes:
            digest.add(given)
            if issubclass(given, Controller):
                # The annotation of a parameter decides whether it is a fraction.
                digest.put("parameters", list(parameters_of(given)))
    except UnknownError as why:
        return None, str(why)
    except Exception as why:
        # An object may do anything when it is looked at.
        return None, f"{type(why).__name__}: {why}"
    return digest.text(), ""


def identity(classes: Iterable[type]) -> str | None:
    """Return the digest of these classes and of what they use; None if it cannot be known."""
    return identified(classes)[0]
