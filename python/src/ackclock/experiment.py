"""Experiments: files, or dicts with the same keys."""

from __future__ import annotations

import operator
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, SupportsIndex

from . import _ackclock, _toml
from .classes import UNKNOWN, Classes
from .controllers import Controller, Used
from .errors import (
    AckclockError,
    ExperimentError,
    NotDeterministicWarning,
    NotReusedWarning,
)
from .identity import identified
from .progress import Progress, Shown
from .results import Results, Run
from .tables import Table

World = Literal["sim", "stack", "wire", "kernel"]

#: Identities of controllers whose first case has been run twice.
_tried: set[str] = set()


class Experiment:
    """An experiment without mistakes.

    Args:
        source: the name of a shipped experiment, the path of a file, the text of a file, or a dict
            with the same keys. In a dict, classes of controllers may stand for their names.
        name: name of the results; by default that of the file, or of the title of a dict.

    Raises:
        ExperimentError: mistakes, all of them in its ``problems``.

    >>> import ackclock as ac
    >>> study = ac.Experiment({
    ...     "title": "How much buffer does CUBIC need?", "duration": "5 s",
    ...     "link": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 BDP"},
    ...     "flow": [{"controller": "cubic"}],
    ...     "vary": {"link.queue": ["0.2 BDP", "1 BDP"]},
    ... })
    >>> study.plan()["row"]
    ['0.2 BDP', '1 BDP']
    """

    def __init__(
        self, source: str | os.PathLike[str] | Mapping[str, Any], *, name: str | None = None
    ) -> None:
        self._classes = Classes()
        #: A study of it is complete.
        self._is_done = False
        self._controllers: tuple[str, ...] = ()
        self._changes: tuple[tuple[str, str], ...] = ()
        self._has_lines = not isinstance(source, Mapping)
        if isinstance(source, Mapping):
            self._text = _toml.text(self._classes.named(source))
            self._file = "experiment"
            self._name = name or _slug(str(source.get("title", "experiment")))
        elif isinstance(source, str) and "\n" in source:
            self._text, self._file, self._name = source, "experiment.toml", name or "experiment"
        else:
            found = _ackclock.resolve(os.fspath(source))
            if len(found) > 1:
                names = ", ".join(name for name, _, _ in found[:8])
                message = f"{source} names {len(found)} experiments: {names}; name one of them"
                raise ExperimentError(message)
            self._name, file, self._text = found[0]
            self._name, self._file = name or self._name, str(file)
        _check_name(self._name)
        self._inner = self._read()

    def _read(self, known: str | None = None) -> _ackclock.Experiment:
        self._identity = known or self._classes.identity()
        self._entries = self._classes.registered()
        return _ackclock.Experiment(
            self._name,
            self._file,
            self._text,
            self._has_lines,
            list(self._changes),
            list(self._controllers),
            self._entries,
            self._identity,
        )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["_inner"], state["_entries"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._inner = self._read()

    def _refresh(self) -> None:
        """Take the controllers as they are now. A class may have changed since it was named."""
        now = self._classes.identity()
        entries = self._classes.registered()
        is_same = now == self._identity
        if not self._is_done and str(self._identity).startswith(UNKNOWN):
            # The study goes on, as after an interrupt.
            is_same = True
        if entries != self._entries or not is_same:
            self._is_done = False
            self._inner = self._read(now)

    def _agree(self, identity: str | None, where: str) -> None:
        """Take the identity that the controllers have elsewhere, unless they are others here."""
        if identity == self._identity:
            return
        unknown = any(str(word).startswith(UNKNOWN) for word in (identity, self._identity))
        if not unknown:
            names = ", ".join(self._classes.by_name)
            message = (
                f"{names}: a controller, what it uses, or Python differs {where}. Its source may "
                "be another one, or a class attribute or a global changes during a run"
            )
            raise AckclockError(message)
        self._inner = self._read(identity)

    def _copy(self) -> Experiment:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._classes = Classes()
        copy._classes.update(self._classes)
        return copy

    def set(self, key: str | Mapping[str, Any], value: Any = None, /) -> Experiment:
        """Return the experiment with other values, as with ``--set``.

        Numbers and statements of the source are left out then, because they are about other values.

        Args:
            key: a key like ``link.rate``, or a dict of keys and values.
            value: its value, as in a file: "20 Mbit/s".
        """
        changes = key if isinstance(key, Mapping) else {key: value}
        copy = self._copy()
        new = Classes()
        for key, value in changes.items():
            named = new.named(value)
            # A text is read as with --set: as TOML, or else as it is.
            word = named if isinstance(named, str) else _toml.inline(named)
            copy._changes = (*copy._changes, (key, word))
        copy._classes.update(new)
        copy._inner = copy._read()
        return copy

    def with_controllers(self, *controllers: str | type[Controller] | Used) -> Experiment:
        """Return the experiment with these controllers in place of those that it varies.

        The claims of the source are then judged for each of them.
        """
        copy = self._copy()
        new = Classes()
        named = [new.named(controller) for controller in controllers]
        copy._controllers = tuple(n if isinstance(n, str) else _toml.inline(n) for n in named)
        # A class that was defined again takes the place of the one before.
        copy._classes.update(new)
        copy._inner = copy._read()
        return copy

    @property
    def name(self) -> str:
        """Name of its results."""
        return self._inner.name

    @property
    def title(self) -> str:
        """Title of its table."""
        return self._inner.title

    @property
    def note(self) -> str:
        """Note below its table. It tells combinations that are left out, as no network has them."""
        return self._inner.note

    @property
    def cases(self) -> list[tuple[str, str]]:
        """Variant and row of each case. A case is a combination of varied values."""
        return self._inner.cases

    def to_toml(self) -> str:
        """Return it as a file for the command, without comments. Paths are relative to its file."""
        return self._inner.toml

    def plan(self) -> Table:
        """Return its runs, in the order of their numbers."""
        return Table(self._inner.plan())

    def simulate(
        self,
        case: SupportsIndex | str = 0,
        repetition: int = 0,
        *,
        on: World = "sim",
        progress: bool | Progress | None = None,
    ) -> Run:
        """Make one run, and keep it in memory.

        Args:
            case: number of the case, or the label of its row.
            repetition: repetition, from 0, which sets the seed.
            on: ``sim``, the simulator, or another world of ``ackclock run --on``.
            progress: whether to show the progress; by default where somebody sees it.
        """
        self._refresh()
        one = self._inner.only(self._case(case), repetition)
        with tempfile.TemporaryDirectory(prefix="ackclock-") as folder, Shown(progress) as shown:
            return Run(_folder(one.run(_settings(folder, on=on), 1, shown)))

    def _case(self, case: SupportsIndex | str) -> int:
        if not isinstance(case, str):
            return operator.index(case)
        rows = [row for _, row in self.cases]
        if rows.count(case) != 1:
            message = (
                f"{rows.count(case)} cases have the row {case!r}; rows: {', '.join(rows[:20])}"
            )
            raise ExperimentError(message)
        return rows.index(case)

    def run(
        self,
        out: str | os.PathLike[str] = "results",
        *,
        on: World = "sim",
        stacks: Sequence[str] = (),
        fresh: bool = False,
        qlog: str | None = None,
        pcap: bool = False,
        jobs: int | None = None,
        progress: bool | Progress | None = None,
    ) -> Results:
        """Make all runs, and store the results as the command does.

        Runs that exist are not made again. After an interruption the same call goes on from there.

        Args:
            out: folder of the results.
            on: world of the runs: ``sim``, ``stack``, ``wire`` or ``kernel``.
            stacks: QUIC implementations on the stack and the wire.
            fresh: whether to make runs again that exist.
            qlog: format of a log of every flow: "0.3", or "0.3,gzip"; see ``ackclock run --qlog``.
            pcap: whether to capture the traffic on the wire.
            jobs: number of threads; by default all processors.
            progress: whether to show the progress, or a function that gets it.
        """
        self._refresh()
        self._check_determinism()
        settings = _settings(out, on=on, stacks=stacks, fresh=fresh, qlog=qlog, pcap=pcap)
        with Shown(progress) as shown:
            results = Results(_folder(self._inner.run(settings, jobs, shown)))
        self._complete()
        return results

    def _complete(self) -> None:
        """Note that a study is complete. Warn if its controllers are not what they were."""
        self._is_done = True
        changed = self._classes.identity() != self._identity
        if changed and not str(self._identity).startswith(UNKNOWN):
            names = ", ".join(self._classes.by_name)
            message = f"{names}: a class attribute or a global changed during the runs"
            warnings.warn(f"{message}; results are not used again", NotReusedWarning, stacklevel=3)

    def run_part(
        self, out: str | os.PathLike[str], part: int, parts: int, *, jobs: int | None = 1
    ) -> tuple[int, int]:
        """Make a part of the runs: those whose number modulo ``parts`` is ``part``, from 0.

        Returns:
            The number of runs that are done, and of all. The part that is done last completes the
            results.
        """
        self._refresh()
        settings = _settings(out, shard=f"{part + 1}/{parts}")
        _, done, all_runs = self._inner.run(settings, jobs, None)
        return done, all_runs

    def _found(self, out: str | os.PathLike[str]) -> tuple[Path | None, int, int]:
        """Look for runs without making any, and complete the results if none is missing.

        Returns:
            The folder of complete results, the number of runs that are there, and of all.
        """
        self._refresh()
        return self._inner.run(_settings(out, runs=()), None, None)

    def _check_determinism(self) -> None:
        """Run a case of each controller twice if it is new here, and warn if the two differ.

        Warn also if results of a controller cannot be used again.
        """
        for name, controller in self._classes.by_name.items():
            known, unknown = identified([controller])
            if known is None:
                message = f"results of {name} are not used again: {unknown} cannot be identified"
                warnings.warn(message, NotReusedWarning, stacklevel=3)
            uses = sorted(map(repr, self._classes.uses[name]))
            key = f"{known or id(controller)} {uses}"
            if key in _tried:
                continue
            _tried.add(key)
            difference = self._inner.differs(name)
            if difference is not None:
                right = "a controller's only source of randomness is `path.seed`"
                message = f"{name}: {difference}; {right}"
                warnings.warn(message, NotDeterministicWarning, stacklevel=3)

    def __repr__(self) -> str:
        return f"<ackclock.Experiment {self.name}: {self.title!r}, {len(self.cases)} cases>"


def _folder(studied: tuple[Path | None, int, int]) -> Path:
    """Return the folder of a study that is complete."""
    folder, done, runs = studied
    if folder is None:
        message = f"{done} of {runs} runs are done"
        raise AckclockError(message)
    return folder


def _check_name(name: str) -> None:
    """Refuse names that are no folders below that of the results."""
    parts = name.split("/")
    is_plain = all(part.strip(" .") and part.isprintable() and "\\" not in part for part in parts)
    if not is_plain:
        message = f"name: {name!r} is no name for results; write words, like 'buffers/cubic'"
        raise ExperimentError(message)


def check_determinism(classes: Classes) -> None:
    """Check the controllers of a question like those of a study."""
    if classes.by_name:
        flows = [
            {"controller": Used(controller, {"label": f"{name} {number}", **parameters})}
            for name, controller in classes.by_name.items()
            for number, parameters in enumerate(classes.uses[name])
        ]
        link = {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 BDP"}
        study = Experiment({"title": "trial", "duration": "10 s", "link": link, "flow": flows})
        study._check_determinism()


def _settings(
    out: str | os.PathLike[str],
    *,
    on: str = "sim",
    stacks: Iterable[str] = (),
    fresh: bool = False,
    qlog: str | None = None,
    pcap: bool = False,
    shard: str | None = None,
    runs: Iterable[int] | None = None,
) -> dict[str, Any]:
    """Return the settings of a study as the extension module takes them."""
    return {
        "out": Path(out),
        "on": on,
        "stacks": list(stacks),
        "fresh": fresh,
        "qlog": qlog,
        "pcap": pcap,
        "shard": shard,
        "runs": None if runs is None else set(runs),
    }


def _slug(title: str) -> str:
    """Return a name for results."""
    words = "".join(char if char.isalnum() else " " for char in title.lower()).split()
    return "-".join(words)[:60] or "experiment"
