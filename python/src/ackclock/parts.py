"""Parts of a study, as they are made on a worker."""

from __future__ import annotations

import importlib
import io
import linecache
import pickle
import socket
import tempfile
import traceback
import types
import uuid
from collections import ChainMap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from .errors import AckclockError
from .experiment import Experiment

#: Names and contents of files, in the order in which they are stored.
Files = list[tuple[str, bytes]]

#: Sweeps that were interrupted in this process. A pool may have more of their parts for it.
_interrupted: set[str] = set()


class WorkerError(Exception):
    """The traceback of a worker, as the cause of its exception."""

    def __str__(self) -> str:
        return f"on the worker\n{self.args[0]}"


@dataclass(frozen=True)
class Failure:
    """An exception of a part. Not every executor carries its traceback.

    Attributes:
        exception: the exception.
        trace: the lines of its traceback, with frames where the caller may know the source.
    """

    exception: Exception
    trace: list[str | tuple[str, int | None, str, str | None]]

    @classmethod
    def caught(cls, why: Exception) -> Failure:
        """Return an exception so that it can be pickled."""
        trace: list[str | tuple[str, int | None, str, str | None]] = []
        each: BaseException | None = why
        while each is not None:
            frames = traceback.extract_tb(each.__traceback__)
            named = [(frame.filename, frame.lineno, frame.name, frame.line) for frame in frames]
            text = traceback.format_exception_only(type(each), each)
            trace = ["Traceback (most recent call last):\n", *named, *text, *trace]
            each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
        try:
            pickle.loads(pickle.dumps(why))
        except Exception:
            why = AckclockError(f"{type(why).__name__}: {why}")
        return cls(why, trace)

    def throw(self) -> NoReturn:
        """Raise the exception for the caller. Its cause shows the lines."""
        shown = ""
        for line in self.trace:
            if isinstance(line, str):
                shown += line
                continue
            file, number, name, text = line
            # The source of a notebook is known here alone.
            text = text or linecache.getline(file, number or 0)
            shown += "".join(traceback.format_list([(file, number or 0, name, text)]))
        raise self.exception from WorkerError(shown)


def make(
    task: bytes, out: str | None, part: int, parts: int, call: tuple[str, int]
) -> Files | Failure:
    """Make a part of a study.

    Args:
        task: the experiment, from `pickled`.
        out: the folder that all workers share, or None.
        part: number of the part, from 0.
        parts: number of parts.
        call: the sweep, and another number for each call. Dask returns old results of equal calls.

    Returns:
        The files of its runs if there is no common folder, or the exception that ended it.
    """
    if call[0] in _interrupted:
        raise KeyboardInterrupt
    try:
        study, identity = _unpickled(task)
        study._agree(identity, f"on the worker {socket.gethostname()}")
        if out is not None:
            study.run_part(out, part, parts)
            return []
        with tempfile.TemporaryDirectory(prefix="ackclock-") as folder:
            study.run_part(folder, part, parts)
            files = [file for file in Path(folder).rglob("*") if file.is_file()]
            # The series of a run comes before the run, and SHA256SUMS after all that it lists.
            files.sort(reverse=True)
            return [(file.relative_to(folder).as_posix(), file.read_bytes()) for file in files]
    except KeyboardInterrupt:
        _interrupted.add(call[0])
        raise
    except Exception as why:
        return Failure.caught(why)


def _unpickled(task: bytes) -> tuple[Experiment, str | None]:
    try:
        value: tuple[Experiment, str | None] = pickle.loads(task)
    except (AttributeError, ImportError) as why:
        message = (
            f"the worker {socket.gethostname()} does not find a controller: {why}. Put it into a "
            "module that the workers can import, or install cloudpickle here and there."
        )
        raise AckclockError(message) from why
    return value


def pickled(study: Experiment) -> bytes:
    """Pickle an experiment once for all parts, with the identity of its controllers.

    Classes of a notebook are pickled by value if cloudpickle is installed.
    """
    value = (study, study._identity)
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError:
        return pickle.dumps(value)
    reduce = cloudpickle.Pickler.dispatch_table[types.CodeType]

    def with_file(code: types.CodeType) -> tuple[Any, ...]:
        # cloudpickle hides the file, which tracebacks are to show.
        made, arguments = reduce(code)
        hidden = [code.co_filename if word == "<dynamic-code>" else word for word in arguments]
        return made, tuple(hidden)

    table = ChainMap({types.CodeType: with_file}, cloudpickle.Pickler.dispatch_table)
    with io.BytesIO() as file:
        type("Pickler", (cloudpickle.Pickler,), {"dispatch_table": table})(file).dump(value)
        return file.getvalue()


def store(out: Path, files: Files) -> None:
    """Write files of a part below a folder, each in one step."""
    root, partial = out.resolve(), f".{uuid.uuid4().hex}"
    inside: set[Path] = set()
    for name, content in files:
        path = root / name
        if path.name == ".." or path.parent not in inside:
            if ".." in path.parts or not path.parent.resolve().is_relative_to(root):
                message = f"{name}: a file of a part outside of the folder {out}"
                raise AckclockError(message)
            path.parent.mkdir(parents=True, exist_ok=True)
            inside.add(path.parent)
        try:
            path.with_name(partial).write_bytes(content)
            path.with_name(partial).replace(path)
        finally:
            path.with_name(partial).unlink(missing_ok=True)
