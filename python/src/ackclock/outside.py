"""Where the code of a controller ends: libraries, files, and the surroundings of the process."""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import io
import os
import re
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any


class UnknownError(Exception):
    """Something whose identity cannot be known."""


_STANDARD = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
_INSTALLED = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")]
#: Names of functions and attributes that read what is not in the code.
_READS = re.compile(
    r"open|popen|Popen|load|load_\w+|loadtxt|genfromtxt|fromfile|fromregex|memmap|read|read_\w+|"
    r"readlines?|scan_\w+|environb?|getenv|argv|stdin|input|urlopen|connect|check_output|"
    r"globals|vars|eval|exec|import_module|__import__|__doc__|__annotations__|"
    r"__dataclass_fields__|fields|metadata|get_type_hints"
)
#: Functions and objects that read what is not in the code, whatever their name is in a module.
_OUTSIDE = [
    open, io.open_code, os.open, os.getenv, os.environ, sys.argv, sys.stdin, input, eval, exec,
    globals, vars, builtins.__import__, importlib.import_module, builtins,
]  # fmt: skip
#: Modules that read what is not in the code.
_MODULES = {
    "configparser", "dbm", "http", "linecache", "mmap", "requests", "shelve", "socket", "sqlite3",
    "subprocess", "urllib",
}  # fmt: skip


def refuse_outside(value: Any) -> None:
    """Refuse an object that reads what is not in the code.

    Raises:
        UnknownError: it is one.
    """
    module = value.__name__ if isinstance(value, types.ModuleType) else _module_of(value)
    is_outside = any(value is outside for outside in _OUTSIDE)
    if is_outside or (module.split(".")[0] in _MODULES and is_of_library(module)):
        message = f"what {getattr(value, '__name__', type(value).__name__)} reads"
        raise UnknownError(message)


def _module_of(value: Any) -> str:
    """Return the name of the module that made an object."""
    if not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        value = type(value)
    module = getattr(value, "__module__", None)
    return module if isinstance(module, str) else ""


def refuse_names(names: set[str], where: str) -> None:
    """Refuse a function that reads what is not in the code.

    Raises:
        UnknownError: one of the names that it uses is that of such a function.
    """
    outside = sorted(name for name in names if _READS.fullmatch(name))
    if outside:
        message = f"what {where} reads with `{outside[0]}`"
        raise UnknownError(message)


def names_in(code: types.CodeType) -> tuple[set[str], set[str], set[str]]:
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
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            attributes.add(str(name))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = names_in(constant)
            used, imported, attributes = used | inner[0], imported | inner[1], attributes | inner[2]
    return used, imported, attributes


def is_of_library(name: str) -> bool:
    """Report whether a module belongs to the standard library, an installed package or this one."""
    package = name.split(".")[0]
    if package in ("__main__", "__mp_main__"):
        # On a worker, its file is that of another program.
        return False
    if package == "ackclock":
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        # Without a file: in the interpreter itself. A user's module may have the same name.
        return package in sys.stdlib_module_names
    path = Path(file).resolve()
    if any(path.is_relative_to(folder) for folder in (*_STANDARD, *_INSTALLED)):
        return True
    return _is_installed(package, path)


@functools.cache
def _is_installed(package: str, path: Path) -> bool:
    """Report whether a file belongs to an installed package, wherever that is."""
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    # The files of a package that is being edited are elsewhere.
    folder = Path(str(distribution.locate_file(package))).resolve()
    return path.is_relative_to(folder)


@functools.cache
def version_of(package: str) -> str:
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
            raise UnknownError(message) from None
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    record = distribution.read_text("RECORD") or ""
    listed = sorted(line for line in record.splitlines() if ".py," in line or ".so," in line)
    return hashlib.sha256("\n".join([distribution.version, *listed]).encode()).hexdigest()
