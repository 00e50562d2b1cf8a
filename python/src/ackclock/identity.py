"""Identity of controllers in Python: what decides their results, as a digest.

Results of a study are found again by its file, by the program and by this digest. It covers the
compiled code of a class, and all that this code names: functions, classes, constants, and the
sources of modules. Where something cannot be known, there is no digest, and results are not used
again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
import sysconfig
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_INSTALLED = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
#: Attributes of a class that no method can depend on.
_IGNORED = {
    "__dict__",
    "__doc__",
    "__weakref__",
    "__module__",
    "__firstlineno__",
    "__static_attributes__",
}


class _UnknownError(Exception):
    """Something whose identity cannot be known."""


class _Digest:
    def __init__(self) -> None:
        self._sha = hashlib.sha256(sys.version.encode())
        self._seen: dict[int, object] = {}

    def text(self) -> str:
        return self._sha.hexdigest()

    def _put(self, *words: object) -> None:
        self._sha.update(repr(words).encode())

    def add(self, value: Any) -> None:
        """Add an object and all that it depends on."""
        if isinstance(value, _PLAIN):
            self._put("plain", value)
            return
        if id(value) in self._seen:
            self._put("seen", list(self._seen).index(id(value)))
            return
        self._seen[id(value)] = value
        if isinstance(value, (tuple, list)):
            self._put(type(value).__name__, len(value))
            for item in value:
                self.add(item)
        elif isinstance(value, dict):
            self._put("dict", len(value))
            for key, item in value.items():
                self.add(key)
                self.add(item)
        elif isinstance(value, (set, frozenset)):
            self._put("set", sorted(map(repr, value)))
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, (staticmethod, classmethod)):
            self.add(value.__func__)
        elif isinstance(value, property):
            self.add((value.fget, value.fset, value.fdel))
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
            self._put("builtin", value.__module__, value.__qualname__)
        else:
            self._object(value)

    def _code(self, code: types.CodeType) -> None:
        self._put("code", code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars)
        self._put(code.co_argcount, code.co_kwonlyargcount, code.co_flags)
        for constant in code.co_consts:
            self.add(constant)

    def _function(self, function: types.FunctionType) -> None:
        if _is_of_library(function.__module__):
            self._installed(function.__module__, function.__qualname__)
            return
        self._put("function", function.__qualname__)
        self.add(function.__code__)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self._put("empty cell")
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                self._put("global", name)
                self.add(function.__globals__[name])

    def _class(self, given: type) -> None:
        if _is_of_library(given.__module__):
            self._installed(given.__module__, given.__qualname__)
            return
        self._put("class", given.__qualname__)
        self.add(given.__bases__)
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
        for name, value in sorted(vars(module).items()):
            if isinstance(value, types.ModuleType):
                self._put("import", name)
                self.add(value)
            elif isinstance(value, _PLAIN) and not name.startswith("__"):
                self._put("constant", name, value)
            elif _is_elsewhere(value, module):
                self._put("from", name)
                self.add(value)

    def _installed(self, module: str, name: str) -> None:
        """Add a name of the standard library or of an installed package, with its version."""
        self._put("installed", module, name, _version(module.split(".")[0]))

    def _object(self, value: Any) -> None:
        """Add an array, or an object by its class and attributes."""
        self._put("object", type(value).__qualname__)
        try:
            view = memoryview(value)
        except TypeError:
            state = getattr(value, "__dict__", None)
            if state is None or _reduces_itself(type(value)):
                message = f"{type(value).__name__} {value!r:.80}"
                raise _UnknownError(message) from None
            self.add(type(value))
            self.add(state)
        else:
            self._put(view.format, view.shape)
            self._sha.update(view.tobytes())


def _reduces_itself(given: type) -> bool:
    """Report whether objects of a class have state outside of their attributes."""
    own = (base for base in given.__mro__ if base is not object)
    return any("__reduce__" in vars(base) or "__reduce_ex__" in vars(base) for base in own)


def _names(code: types.CodeType) -> set[str]:
    """Return all names that a function and the functions inside it use."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_elsewhere(value: object, module: types.ModuleType) -> bool:
    """Report whether a function or a class was imported from another module."""
    is_definition = isinstance(value, (type, types.FunctionType))
    return is_definition and value.__module__ != module.__name__ and value.__module__ in sys.modules


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


def _version(package: str) -> str:
    if package in sys.stdlib_module_names:
        return sys.version
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        file = getattr(sys.modules.get(package), "__file__", None)
        if file is None:
            message = f"the version of {package}"
            raise _UnknownError(message) from None
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def identity(classes: Iterable[type]) -> str | None:
    """Return the digest of these classes and of what they use; None if it cannot be known."""
    digest = _Digest()
    try:
        for given in classes:
            digest.add(given)
    except (_UnknownError, OSError, RecursionError):
        return None
    return digest.text()
