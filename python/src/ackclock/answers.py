"""Questions of the command, with their answers as objects.

The arguments are those of the command, with the underscores of Python: `ackclock compare --help`
describes each.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import _ackclock, _toml
from .classes import Classes
from .controllers import Controller, Used
from .experiment import check_determinism
from .progress import Progress, Shown
from .results import Results

#: Charts of an answer that a notebook shows.
_CHARTS = 2

Named = str | type[Controller] | Used


class Answer:
    """Answer of a question. Printing it shows the screen of the command, without the report's path.

    Attributes:
        data: its numbers, as ``--json`` prints them.
        page: path of the page with its charts, if it has one.
        passes: False if a rule of ``fail_if`` or a baseline is broken.
    """

    def __init__(self, inner: _ackclock.Answer) -> None:
        self._inner = inner
        self.data: Any = json.loads(inner.json) if inner.json else None
        self.page = Path(inner.page).absolute() if inner.page else None
        self.passes = inner.status == 0
        stored = self.data.get("results", []) if isinstance(self.data, dict) else []
        self._stored = [Path(entry["path"]).absolute() for entry in stored]
        # The next question may write its page to the same place.
        self._charts = _charts(self.page)

    @property
    def results(self) -> list[Results]:
        """The stored results behind the answer, with all their tables."""
        return [Results(path) for path in self._stored]

    @property
    def details(self) -> str:
        """The text with all details, as with ``-v``."""
        return _ackclock.plain(self._inner.details)

    def __str__(self) -> str:
        return _ackclock.plain(self._inner.text)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = f"<pre>{html.escape(str(self))}</pre>"
        for chart in self._charts:
            shown += f"<div style='max-width: 60em'>{chart}</div>"
        if self.page:
            shown += f"<p>page: <code>{html.escape(str(self.page))}</code></p>"
        return shown


def _charts(page: Path | None) -> list[str]:
    """Return the first charts of a page."""
    if page is None or not page.is_file():
        return []
    names = re.findall(r'href="([^"/]+\.svg)"', page.read_text(encoding="utf-8"))
    files = [page.parent / name for name in dict.fromkeys(names)][:_CHARTS]
    return [_inline(file.read_text(encoding="utf-8")) for file in files if file.is_file()]


def _inline(svg: str) -> str:
    """Return an SVG file as a part of a page."""
    return svg[svg.index("<svg") :] if "<svg" in svg else ""


def _flags(**given: Any) -> list[str]:
    """Return keywords as flags: True is a flag, False and None are nothing, lists repeat it."""
    flags = []
    for name, value in given.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is True:
                flags.append(flag)
            elif item is not None and item is not False:
                flags.append(f"{flag}={os.fspath(item) if isinstance(item, os.PathLike) else item}")
    return flags


def _ask(
    command: str,
    positional: Sequence[Any],
    flags: list[str],
    classes: Classes | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Answer:
    classes = classes or Classes()
    words = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in positional]
    check_determinism(classes)
    with Shown(progress) as shown:
        arguments = [command, *flags, "--", *words]
        return Answer(
            _ackclock.ask(arguments, classes.registered(), classes.identity(), jobs, shown)
        )


def _word(controller: Named, classes: Classes) -> str:
    """Return a controller as the command takes it: a name, or a table in TOML."""
    named = classes.named(controller)
    return named if isinstance(named, str) else _toml.inline(named)


def compare(
    *controllers: Named,
    link: str | os.PathLike[str] | None = None,
    on: str | None = None,
    stack: Sequence[str] | str | None = None,
    flow: str | None = None,
    vary: str | None = None,
    against: Named | None = None,
    time: str | None = None,
    repeat: int | None = None,
    quick: bool = False,
    precise: bool = False,
    margin: str | None = None,
    decide: bool = False,
    map: str | None = None,  # noqa: A002
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Answer:
    """Compare controllers on a link, and explain the difference.

    Args:
        controllers: two or more, by name, as classes, or with parameters: `use`.
        link: "rate=20 Mbit/s rtt=40 ms queue=1 BDP", a network like "lte", or an experiment whose
            ``[vary]`` makes several networks.
        on: world of the flows: "sim", "stack" or "wire".
        stack: QUIC implementations for both ends, on the stack and the wire.
        flow: keys of the flows: "transport=tcp".
        vary: a key of the link with a range: "queue=0.1..8 BDP".
        against: competitor of each controller; the first controller by default.
        time: duration of the long flows.
        repeat: number of pairs of long runs.
        quick: whether to make 5 pairs and look at them once.
        precise: whether to make 30 pairs and look at them once.
        margin: difference up to which goodputs count as equal: "5 %".
        decide: whether to make pairs on each of several networks until it is decided.
        map: two keys for a map of winners over several networks: "link.rate,link.rtt".
        out: folder of results and page; "results" by default.
        jobs: number of threads; by default all processors.
        progress: whether to show the progress, or a function that gets it.

    >>> import ackclock as ac
    >>> answer = ac.compare("cubic", "new-reno", link="rate=5 Mbit/s rtt=20 ms", time="10 s")
    >>> "goodput" in str(answer)
    True
    """
    classes = Classes()
    words = [_word(controller, classes) for controller in controllers]
    competitor = None if against is None else _word(against, classes)
    flags = _flags(
        link=link, on=on, stack=stack, flow=flow, vary=vary, against=competitor, time=time,
        repeat=repeat, quick=quick, precise=precise, margin=margin, decide=decide, map=map, out=out,
    )  # fmt: skip
    return _ask("compare", words, flags, classes, jobs, progress)


def conform(
    stack: str | None = None,
    *,
    log: Sequence[str | os.PathLike[str]] | str | os.PathLike[str] | None = None,
    link: str | None = None,
    keys: str | os.PathLike[str] | None = None,
    controller: Named | None = None,
    on: str | None = None,
    kernel: bool = False,
    quick: bool = False,
    repeat: int | None = None,
    fail_if: str | None = None,
    baseline: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Answer:
    """Check whether a stack's own congestion control follows its specification.

    Args:
        stack: name of the stack, or the manifest of your own.
        log: logs of a sender to judge instead, with ``link``.
        link: network of the log.
        keys: TLS keys of a captured log.
        controller: controller of the stack; its default by default.
        on: world of the runs: "stack" or "wire".
        kernel: whether to compare with the kernel's TCP as well.
        quick: whether to use few networks.
        repeat: number of repetitions.
        fail_if: "deviates": the answer does not pass if the stack deviates.
        baseline: earlier answer; the answer does not pass if a deviation is new.
        out: folder of results and page; "results" by default.
        jobs: number of threads; by default all processors.
        progress: whether to show the progress, or a function that gets it.
    """
    classes = Classes()
    word = None if controller is None else _word(controller, classes)
    flags = _flags(
        log=log, link=link, keys=keys, controller=word, on=on, kernel=kernel, quick=quick,
        repeat=repeat, fail_if=fail_if, baseline=baseline, out=out,
    )  # fmt: skip
    return _ask("conform", [] if stack is None else [stack], flags, classes, jobs, progress)


def diff(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    *,
    fail_if: Sequence[str] | str | None = None,
) -> Answer:
    """Show what changed between two sets of results by more than the spread between runs.

    Args:
        before: results before the change: a folder of `Experiment.run`.
        after: results after the change.
        fail_if: rules like "goodput -3 %"; the answer does not pass if one is broken.
    """
    return _ask("diff", [before, after], _flags(fail_if=fail_if))


def analyse(
    *logs: str | os.PathLike[str],
    keys: str | os.PathLike[str] | None = None,
    from_: str | None = None,
    to: str | None = None,
    compare: bool = False,
    out: str | os.PathLike[str] | None = None,
) -> Answer:
    """Compute metrics and find problems in logs of any program.

    Args:
        logs: qlog, pcap, pcapng, flent, iperf3; also compressed with gzip.
        keys: TLS keys for captured QUIC packets.
        from_: time to count from: "10 s".
        to: time to count up to.
        compare: whether to compare two connections.
        out: folder of the page; "results" by default.
    """
    return _ask("analyse", logs, _flags(keys=keys, from_=from_, to=to, compare=compare, out=out))


def replay(
    log: str | os.PathLike[str],
    *,
    controller: Named | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Answer:
    """Give the ACKs and losses of a sender's log to another controller.

    Args:
        log: qlog of a sender.
        controller: the controller; that of the log by default.
        out: folder of the page; "results" by default.
    """
    classes = Classes()
    word = None if controller is None else _word(controller, classes)
    return _ask("replay", [log], _flags(controller=word, out=out), classes)
