"""Identity of controllers in Python: what decides their results, as a digest.

Results of a study are found again by its file, by the program and by this digest. It covers the
compiled code of a class, and all that this code names: functions, classes, values, and the sources
of modules. Where something cannot be known, there is no digest, and results are not used again.
"""

from __future__ import annotations

import collections
import dis
import enum
import fractions
import functools
import hashlib
import importlib.metadata
import re
import sys
import sysconfig
import types
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any

_INSTALLED = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range)
#: Values whose text is all of them.
_SHOWN = (Decimal, fractions.Fraction, PurePath, type(re.compile("")))
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
}
#: Names of functions that read what is not in the code.
_OUTSIDE = {
    "open",
    "load",
    "loadtxt",
    "genfromtxt",
    "fromfile",
    "memmap",
    "read_text",
    "read_bytes",
    "read_csv",
    "read_parquet",
    "environ",
    "getenv",
    "globals",
    "vars",
    "eval",
    "exec",
    "import_module",
    "__import__",
}


class _UnknownError(Exception):
    """Something whose identity cannot be known."""


class _Digest:
    def __init__(self) -> None:
        self._sha = hashlib.sha256(sys.version.encode())
        self._seen: dict[int, tuple[int, object]] = {}

    def text(self) -> str:
        return self._sha.hexdigest()

    def _put(self, *words: object) -> None:
        self._sha.update(repr(words).encode("utf-8", "surrogatepass"))

    def add(self, value: Any) -> None:
        """Add an object and all that it depends on."""
        kind = type(value)
        if kind in _PLAIN:
            self._put("plain", kind.__name__, value)
            return
        if id(value) in self._seen:
            self._put("seen", self._seen[id(value)][0])
            return
        self._seen[id(value)] = (len(self._seen), value)
        if kind in (tuple, list, collections.deque):
            self._put(kind.__name__, len(value))
            self._all(value)
        elif kind is dict:
            self._put("dict", len(value))
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
        elif isinstance(value, _SHOWN):
            self._put("shown", kind.__module__, kind.__qualname__, repr(value))
        elif isinstance(value, enum.Enum):
            self._put("member", value.name)
            self.add(kind)
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
                raise _UnknownError(message)
            texts.append(repr(value))
        self._put("set", sorted(texts))

    def _wrapper(self, value: Any) -> None:
        """Add what wraps a function, or a method of an object."""
        if isinstance(value, (staticmethod, classmethod)):
            self._put(type(value).__name__)
            self.add(value.__func__)
        elif isinstance(value, property):
            self._put("property")
            self._all((value.fget, value.fset, value.fdel))
        elif isinstance(value, functools.cached_property):
            self._put("cached property")
            self.add(value.func)
        elif isinstance(value, functools.partial):
            self._put("partial")
            self._all((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self._put("method")
            self._all((value.__self__, value.__func__))
        elif hasattr(value, "cache_parameters") and hasattr(value, "__wrapped__"):
            self._put("cache")
            self.add(value.__wrapped__)
        elif hasattr(value, "__qualname__") and not isinstance(value, type) and callable(value):
            # A function that is not written in Python, perhaps of an object.
            self._put("builtin", getattr(value, "__module__", None), value.__qualname__)
            owner = getattr(value, "__self__", None)
            if owner is not None and not isinstance(owner, types.ModuleType):
                self.add(owner)
        else:
            self._object(value)

    def _code(self, code: types.CodeType) -> None:
        self._put("code", code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars)
        self._put(code.co_argcount, code.co_kwonlyargcount, code.co_flags)
        self._put(getattr(code, "co_exceptiontable", b""))
        self._all(code.co_consts)

    def _function(self, function: types.FunctionType) -> None:
        if _is_of_library(function.__module__):
            self._installed(function.__module__, function.__qualname__)
            return
        self._put("function", function.__qualname__)
        self._all((function.__code__, function.__defaults__, function.__kwdefaults__))
        attributes = {k: v for k, v in function.__dict__.items() if not k.startswith("__")}
        self.add(attributes)
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self._put("empty cell")
        used, imported, attributes_used = _names(function.__code__)
        outside = sorted((used | attributes_used) & _OUTSIDE)
        if outside:
            message = f"what {function.__qualname__} reads with `{outside[0]}`"
            raise _UnknownError(message)
        for name in sorted(used & function.__globals__.keys()):
            self._put("global", name)
            self.add(function.__globals__[name])
        for name in sorted(imported):
            if name not in sys.modules:
                message = f"the module {name}, which {function.__qualname__} imports"
                raise _UnknownError(message)
            self._put("imported", name)
            self.add(sys.modules[name])

    def _class(self, given: type) -> None:
        if _is_of_library(given.__module__):
            self._installed(given.__module__, given.__qualname__)
            return
        self._put("class", given.__qualname__)
        self._all((type(given), given.__bases__))
        # Classes that travel by value have another order.
        for name, value in sorted(given.__dict__.items()):
            if name not in _IGNORED and not isinstance(value, types.GetSetDescriptorType):
                self._put("attribute", name)
                self.add(value)

    def _module(self, module: types.ModuleType) -> None:
        if _is_of_library(module.__name__):
            self._installed(module.__name__, "")
            return
        file = getattr(module, "__file__", None)
        if file is None or not file.endswith(".py"):
            message = f"the source of the module {module.__name__}"
            raise _UnknownError(message)
        self._put("module", module.__name__, hashlib.sha256(Path(file).read_bytes()).hexdigest())
        # Its source is not all: values may have changed since it was imported.
        for name, value in sorted(vars(module).items()):
            if not (name.startswith("__") and name.endswith("__")):
                self._put("name", name)
                self.add(value)

    def _installed(self, module: str, name: str) -> None:
        """Add a name of the standard library or of an installed package, with its version."""
        self._put("installed", module, name, _version(module.split(".")[0]))

    def _object(self, value: Any) -> None:
        """Add an array, or an object by its class and attributes."""
        kind = type(value)
        self._put("object", kind.__qualname__)
        is_array = kind.__module__ in ("numpy", "array", "builtins")
        if is_array and not isinstance(value, (tuple, list, dict, set)):
            try:
                view = memoryview(value)
            except (TypeError, ValueError):
                message = f"{kind.__name__} {value!r:.80}"
                raise _UnknownError(message) from None
            self._put(view.format, view.shape)
            self._sha.update(view.tobytes())
            return
        state = getattr(value, "__dict__", None)
        if state is None or _reduces_itself(kind):
            message = f"the state of {kind.__name__} {value!r:.80}"
            raise _UnknownError(message)
        self.add(kind)
        self.add(dict(state))
        if isinstance(value, dict):
            self.add(dict(value))
        elif isinstance(value, (tuple, list)):
            self.add(list(value))


def _reduces_itself(given: type) -> bool:
    """Report whether objects of a class have state outside of their attributes."""
    own = (base for base in given.__mro__ if base not in (object, dict, list, tuple))
    return any("__reduce__" in vars(base) or "__reduce_ex__" in vars(base) for base in own)


def _names(code: types.CodeType) -> tuple[set[str], set[str], set[str]]:
    """Return the global names of a function and of those inside it, its imports, its attributes."""
    used: set[str] = set()
    imported: set[str] = set()
    attributes: set[str] = set()
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            used.add(name)
        elif instruction.opname == "IMPORT_NAME":
            imported.add(name)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(name, str):
            attributes.add(name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names(constant)
            used, imported, attributes = used | inner[0], imported | inner[1], attributes | inner[2]
    return used, imported, attributes


def _is_of_library(name: str) -> bool:
    """Report whether a module belongs to the standard library, an installed package or this one."""
    package = name.split(".")[0]
    if package in ("__main__", "__mp_main__"):
        # On a worker, its file is that of another program.
        return False
    if package == "ackclock" or package in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return False
    path = Path(file).resolve()
    return any(path.is_relative_to(folder) for folder in _INSTALLED)


@functools.cache
def _version(package: str) -> str:
    """Return what identifies a package: the digests of its files, where they are listed."""
    if package in sys.stdlib_module_names:
        return sys.version
    if package == "ackclock":
        # A manifest says which program made the results.
        return ""
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        file = getattr(sys.modules.get(package), "__file__", None)
        if file is None:
            message = f"the version of {package}"
            raise _UnknownError(message) from None
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    record = distribution.read_text("RECORD") or ""
    listed = sorted(line for line in record.splitlines() if ".py," in line or ".so," in line)
    return hashlib.sha256("\n".join([distribution.version, *listed]).encode()).hexdigest()


def identified(classes: Iterable[type]) -> tuple[str | None, str]:
    """Return the digest of these classes and of what they use, or None and what is not known."""
    digest = _Digest()
    try:
        for given in classes:
            digest.add(given)
    except _UnknownError as why:
        return None, str(why)
    except Exception as why:
        # An object may do anything when it is looked at.
        return None, f"{type(why).__name__}: {why}"
    return digest.text(), ""


def identity(classes: Iterable[type]) -> str | None:
    """Return the digest of these classes and of what they use; None if it cannot be known."""
    return identified(classes)[0]
