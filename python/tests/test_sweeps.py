"""Sweeps give the bytes of `Experiment.run`, whatever executes their parts."""

from __future__ import annotations

import linecache
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock import parts, sweeps

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no SIGKILL and no fork"
)

LINK = {"rate": "2 Mbit/s", "delay": "10 ms", "queue": "1 BDP"}


class Half(ac.Controller):
    """A packet each round trip, half after a loss."""

    def on_round(self, report: ac.Report) -> None:
        self.cwnd += 1200

    def on_congestion(self, event: ac.Congestion) -> None:
        self.cwnd = max(self.cwnd / 2, 2400)


class Killer(Half):
    """Kills its process once, unless it is the caller."""

    def __init__(self, path: ac.PathInfo, marker: str = "", caller: int = 0) -> None:
        self.marker, self.caller = marker, caller

    def on_round(self, report: ac.Report) -> None:
        if os.getpid() != self.caller:
            with suppress(FileExistsError):
                Path(self.marker).touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        super().on_round(report)


class OddError(Exception):
    """An exception that cannot be pickled."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


class Failing(Half):
    """Raises an exception, unless its process is the caller."""

    def __init__(self, path: ac.PathInfo, odd: bool = False, caller: int = 0) -> None:
        self.odd, self.caller = odd, caller

    def on_round(self, report: ac.Report) -> None:
        if os.getpid() != self.caller:
            raise OddError("very odd") if self.odd else KeyError("speed")
        super().on_round(report)


class Nobody(Half):
    """A class whose identity cannot be known."""

    something = object()


def study(*controllers: Any, **keys: Any) -> ac.Experiment:
    content = {"title": "Parts", "duration": "1 s", "series": "100 ms", "link": LINK, "flow": [{}]}
    return ac.Experiment({**content, "vary": {"flow.controller": list(controllers)}, **keys})


STUDY = study("cubic", Half, repetitions=3)


def digest(results: ac.Results) -> dict[str, bytes]:
    files = [file for file in results.path.rglob("*") if file.is_file()]
    return {file.relative_to(results.path).as_posix(): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    found = digest(STUDY.run(tmp_path_factory.mktemp("expected")))
    assert "SHA256SUMS" in found
    return found


class Counting:
    """An executor that counts what is submitted to another."""

    def __init__(self, executor: Any) -> None:
        self.executor, self.parts = executor, list[int]()

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        self.parts.append(args[2])
        return self.executor.submit(fn, *args)


class Later:
    """A handle with no more than ``result``, which is when the function is called."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result = call


class Inline:
    """An executor without processes. Parts of `interrupted` are interrupted."""

    def __init__(self, interrupted: tuple[int, ...] = (), **changes: Any) -> None:
        self.interrupted, self.changes = interrupted, changes

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Later:
        task, out, part, of, call = args

        def result() -> Any:
            if part in self.interrupted:
                raise KeyboardInterrupt
            return fn(task, self.changes.get("out", out), part, of, call)

        return Later(result)


class Refusing:
    """An executor to which nothing may be submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        raise AssertionError


def pool(method: str) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method))


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def executor(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Return the executor of this name."""
    kind = request.param
    if kind == "dask":
        yield request.getfixturevalue("dask_client")
    elif kind == "submitit":
        submitit = pytest.importorskip("submitit")
        # It waits so long for the results of killed jobs.
        monkeypatch.setattr("submitit.core.core.Job._results_timeout_s", 1)
        # Its jobs are processes that know no more than the environment.
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        yield submitit.AutoExecutor(folder=tmp_path / "submitit", cluster="local")
    elif kind == "loky":
        loky = pytest.importorskip("loky")
        loky_pool = loky.ProcessPoolExecutor(2)
        yield loky_pool
        loky_pool.shutdown(kill_workers=True)
    else:
        if kind not in multiprocessing.get_all_start_methods():
            pytest.skip(f"this system has no {kind}")
        with pool(kind) as processes:
            yield processes


POOLS = ["spawn", "forkserver", "fork", "loky"]
EXECUTORS = [*POOLS, "dask", "submitit"]


@pytest.mark.parametrize("shared", [True, False], ids=["folder", "bytes"])
@pytest.mark.parametrize("executor", EXECUTORS, indirect=True)
def test_the_bytes_are_those_of_one_process(
    executor: Any, shared: bool, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    results = ac.sweep(STUDY, executor=executor, parts=2, out=tmp_path / "out", shared=shared)
    assert digest(results) == expected
    # A second call runs nothing.
    again = ac.sweep(STUDY, executor=Refusing(), out=tmp_path / "out")
    assert digest(again) == expected
    assert [path.name for path in (tmp_path / "out" / "parts").iterdir()] == [results.path.name]


def test_no_executor_is_all_processors(tmp_path: Path, expected: dict[str, bytes]) -> None:
    assert digest(ac.sweep(STUDY, out=tmp_path)) == expected


@pytest.mark.parametrize("shared", [True, False], ids=["folder", "bytes"])
def test_the_same_call_goes_on_after_an_interruption(
    shared: bool, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    # Runs of another study are no runs of this one.
    with pytest.raises(KeyboardInterrupt):
        ac.sweep(study("vegas", "bbr3"), executor=Inline((1,)), out=tmp_path, parts=2)
    with pytest.raises(KeyboardInterrupt):
        ac.sweep(STUDY, executor=Inline((4, 5)), out=tmp_path, shared=shared)
    counting, seen = Counting(Inline()), list[tuple[Any, ...]]()

    def progress(*state: Any) -> None:
        seen.append(state)

    results = ac.sweep(STUDY, executor=counting, out=tmp_path, shared=shared, progress=progress)
    assert counting.parts == [4, 5]
    assert seen == [("parts", 5 / 6, 5, 6), ("parts", 1.0, 6, 6)]
    assert digest(results) == expected


@pytest.mark.parametrize("shared", [True, False], ids=["folder", "bytes"])
def test_damaged_runs_are_made_again(
    shared: bool, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        ac.sweep(STUDY, executor=Inline((5,)), out=tmp_path, shared=shared)
    (run,) = tmp_path.rglob("00002.run")
    run.write_bytes(run.read_bytes()[:-1])
    results = ac.sweep(STUDY, executor=Inline(), out=tmp_path, shared=shared)
    assert digest(results) == expected


def killing(tmp_path: Path) -> ac.Experiment:
    killer = ac.use(Killer, marker=str(tmp_path / "killed"), caller=os.getpid())
    return study("cubic", "new-reno", killer, "vegas")


@pytest.mark.parametrize("executor", ["dask", "submitit"], indirect=True)
def test_a_part_of_a_killed_worker_is_made_again(executor: Any, tmp_path: Path) -> None:
    counting = Counting(executor)
    killed = killing(tmp_path)
    results = ac.sweep(killed, executor=counting, parts=4, out=tmp_path / "out")
    assert (tmp_path / "killed").exists()
    # Dask's scheduler does it by itself.
    again = [] if "distributed" in type(executor).__module__ else [2]
    assert counting.parts == [0, 1, 2, 3, *again]
    assert digest(results) == digest(killed.run(tmp_path / "expected"))


@pytest.mark.parametrize("shared", [True, False], ids=["folder", "bytes"])
@pytest.mark.parametrize("library", ["concurrent", "loky"])
def test_a_pool_that_a_killed_worker_broke(library: str, shared: bool, tmp_path: Path) -> None:
    loky = pytest.importorskip("loky") if library == "loky" else None
    new = loky.ProcessPoolExecutor if loky else ProcessPoolExecutor
    killed = killing(tmp_path)
    # One worker makes the parts one after the other.
    with (
        new(1) as processes,
        pytest.raises(
            ac.AckclockError, match="Create a new executor and call the same line"
        ) as info,
    ):
        ac.sweep(killed, executor=processes, parts=4, out=tmp_path / "out", shared=shared)
    assert isinstance(info.value.__cause__, BrokenExecutor)
    with new(1) as processes:
        counting = Counting(processes)
        results = ac.sweep(killed, executor=counting, parts=4, out=tmp_path / "out", shared=shared)
    assert counting.parts == [2, 3]
    assert digest(results) == digest(killed.run(tmp_path / "expected"))


def test_a_part_that_is_lost_again_and_again(tmp_path: Path) -> None:
    class Losing:
        def submit(self, fn: Callable[..., Any], /, *args: Any) -> Later:
            return Later(self.result)

        def result(self) -> Any:
            message = "no such worker"
            raise OSError(message)

    counting = Counting(Losing())
    with pytest.raises(ac.AckclockError, match=r"part 0 of 1 was lost 3 times: OSError: no such"):
        ac.sweep(STUDY, executor=counting, parts=1, out=tmp_path)
    assert counting.parts == [0, 0, 0]


@pytest.mark.parametrize("executor", ["spawn", "loky", "dask", "submitit"], indirect=True)
def test_an_exception_shows_the_line_of_the_controller(executor: Any, tmp_path: Path) -> None:
    failing = study(ac.use(Failing, caller=os.getpid()))
    with pytest.raises(KeyError, match="speed") as info:
        ac.sweep(failing, executor=executor, parts=1, out=tmp_path / "out")
    text = "".join(traceback.format_exception(info.type, info.value, info.tb))
    line = Failing.on_round.__code__.co_firstlineno + 2
    assert f'test_sweeps.py", line {line}, in on_round' in text
    assert 'raise OddError("very odd") if self.odd else KeyError("speed")' in text


def test_an_exception_that_cannot_be_pickled_is_told(tmp_path: Path) -> None:
    failing = study(ac.use(Failing, odd=True, caller=os.getpid()))
    with (
        pool("fork") as processes,
        pytest.raises(ac.AckclockError, match="OddError: very odd") as info,
    ):
        ac.sweep(failing, executor=processes, out=tmp_path)
    assert "in on_round" in str(info.value.__cause__)


def test_an_interrupt_cancels_without_a_wait(tmp_path: Path) -> None:
    release, cancelled = threading.Event(), list[int]()

    class Endless:
        def done(self) -> bool:
            return False

        def cancel(self) -> None:
            # A scheduler that takes its time.
            release.wait()
            cancelled.append(1)

        result = done

    class Slow:
        def submit(self, fn: Callable[..., Any], /, *args: Any) -> Endless:
            if args[2] == 3:
                threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            return Endless()

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        ac.sweep(STUDY, executor=Slow(), parts=4, out=tmp_path)
    assert cancelled == []
    release.set()
    for thread in threading.enumerate()[before:]:
        thread.join()
    assert len(cancelled) == 4


def test_no_part_begins_after_an_interrupt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    task = parts.pickled(STUDY)
    monkeypatch.setattr(ac.Experiment, "run_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parts.make(task, str(tmp_path), 0, 2, ("one", 0))
    monkeypatch.undo()
    with pytest.raises(KeyboardInterrupt):
        parts.make(task, str(tmp_path), 1, 2, ("one", 1))
    assert parts.make(task, str(tmp_path), 1, 2, ("another", 0)) == []


def test_a_fork_after_use_of_the_library(tmp_path: Path, expected: dict[str, bytes]) -> None:
    STUDY.run(tmp_path / "before")
    with pool("fork") as processes:
        assert digest(ac.sweep(STUDY, executor=processes, out=tmp_path / "out")) == expected


def test_an_unknown_identity_travels_with_the_parts(tmp_path: Path) -> None:
    unknown = study(Nobody, "cubic")
    with pool("spawn") as processes:
        results = ac.sweep(unknown, executor=processes, parts=2, out=tmp_path)
    # Nobody can know whether another one is the same, or this one still.
    assert study(Nobody, "cubic").run(tmp_path).path != results.path
    assert unknown.run(tmp_path).path != results.path


CELL = """
import os
import ackclock as ac

STEP = 1200

def failed(caller):
    raise KeyError("speed")

class Cell(ac.Controller):
    def __init__(self, path: ac.PathInfo, caller: int = 0) -> None:
        self.caller = caller

    def on_round(self, report: ac.Report) -> None:
        if self.caller and os.getpid() != self.caller:
            failed(self.caller)
        self.cwnd += STEP
"""


def test_a_class_of_a_notebook_travels_by_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cloudpickle")
    # As in a notebook, no file has the source.
    name = "/tmp/ipykernel_1/2.py"
    cell: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, name, "exec"), cell)
    monkeypatch.setitem(linecache.cache, name, (len(CELL), None, CELL.splitlines(True), name))
    monkeypatch.setattr(sys.modules["__main__"], "Cell", cell["Cell"], raising=False)
    known = study(cell["Cell"], "cubic")
    with pool("spawn") as processes:
        results = ac.sweep(known, executor=processes, parts=2, out=tmp_path / "out")
        failing = study(ac.use(cell["Cell"], caller=os.getpid()))
        with pytest.raises(KeyError, match="speed") as info:
            ac.sweep(failing, executor=processes, out=tmp_path / "out")
    assert digest(results) == digest(known.run(tmp_path / "expected"))
    assert f'"{name}", line 8, in failed\n    raise KeyError("speed")' in str(info.value.__cause__)


def test_a_class_that_the_worker_does_not_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = parts.pickled(STUDY)
    monkeypatch.delattr(sys.modules[__name__], "Half")
    failure = parts.make(task, str(tmp_path), 0, 1, ("sweep", 0))
    assert isinstance(failure, parts.Failure)
    with pytest.raises(
        ac.AckclockError, match=r"does not find a controller: .* install cloudpickle"
    ):
        failure.throw()


def test_a_class_that_differs_on_the_worker_is_refused() -> None:
    with pytest.raises(ac.AckclockError, match=r"Half: a controller, .* differs on the worker"):
        STUDY._agree("another", "on the worker")


def test_workers_that_do_not_share_the_folder(tmp_path: Path) -> None:
    elsewhere = Inline(out=str(tmp_path / "elsewhere"))
    with pytest.raises(ac.AckclockError, match="share this folder, or set shared=False"):
        ac.sweep(STUDY, executor=elsewhere, out=tmp_path / "out")


def test_files_stay_in_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("../above", str(tmp_path / "absolute"), "a/../../above", "a/..", ".."):
        with pytest.raises(ac.AckclockError, match="outside of the folder"):
            parts.store(out, [(name, b"")])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path)
    with pytest.raises(ac.AckclockError, match="outside of the folder"):
        parts.store(out, [("link/file", b"")])
    parts.store(out, [("a/b", b"1")])
    parts.store(out, [("a/b", b"2")])
    assert (out / "a" / "b").read_bytes() == b"2"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "link", "out"]


def test_the_number_of_parts(tmp_path: Path) -> None:
    class Known(Inline):
        num_workers = 1

    counting = Counting(Inline())
    ac.sweep(STUDY, executor=counting, out=tmp_path / "unknown")
    assert counting.parts == list(range(6))
    submitted = list[tuple[Any, ...]]()

    class Recording(Known):
        def submit(self, fn: Callable[..., Any], /, *args: Any) -> Later:
            submitted.append(args[2:4])
            return super().submit(fn, *args)

    ac.sweep(STUDY, executor=Recording(), out=tmp_path / "known")
    assert submitted == [(0, 4), (1, 4), (2, 4), (3, 4)]
    with pytest.raises(ValueError, match="parts is 0; write 1 or more"):
        ac.sweep(STUDY, executor=Inline(), parts=0, out=tmp_path)


def test_ray_is_not_a_dependency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="pip install ray"):
        sweeps.RayExecutor()


@pytest.mark.parametrize("executor", [ProcessPoolExecutor, object(), map])
def test_what_takes_no_tasks_is_refused(executor: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="has no `submit`; use one like ProcessPoolExecutor"):
        ac.sweep(STUDY, executor=executor, out=tmp_path)
