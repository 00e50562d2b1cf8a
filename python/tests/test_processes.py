"""The package as a part of a process: import, signals, forks, the interpreter's lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from test_experiments import command

import ackclock as ac

#: A run that takes minutes of CPU time.
LONG = """
import ackclock as ac
study = ac.Experiment({
    "title": "long", "duration": "10000 s",
    "link": {"rate": "100 Mbit/s", "delay": "10 ms", "queue": "1 BDP"},
    "flow": [{"controller": CONTROLLER}, *globals().get("OTHERS", [])],
})
"""

CONTROLLERS = {
    "rust": "CONTROLLER = 'cubic'",
    # Python is not called before the interrupt.
    "late": """
import ackclock as ac
CONTROLLER = "cubic"
class Late(ac.Controller):
    def on_ack(self, ack):
        self.cwnd = 2400
OTHERS = [{"controller": Late, "start": "9000 s"}]
""",
    "ack": """
import ackclock as ac
class CONTROLLER(ac.Controller):
    def on_ack(self, ack):
        self.cwnd = 100_000
""",
    "interval": """
import ackclock as ac
class CONTROLLER(ac.Controller):
    interval = "10 ms"
    def on_interval(self, report):
        self.cwnd = 100_000
""",
    "busy": """
import ackclock as ac
class CONTROLLER(ac.Controller):
    def on_ack(self, ack):
        while True:
            pass
""",
}


def python(code: str) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], text=True, **pipes)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("kind", CONTROLLERS)
def test_an_interrupt_ends_a_run(kind: str) -> None:
    """The time is measured in the process, from the signal to the exception, as CPU time."""
    code = f"""{CONTROLLERS[kind]}
{LONG}
import signal, sys, time, threading, os
def interrupt():
    time.sleep(0.5)
    global began
    began = time.process_time(), time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    study.simulate()
except KeyboardInterrupt:
    print("interrupted", time.process_time() - began[0], time.monotonic() - began[1])
"""
    process = python(code)
    out, err = process.communicate(timeout=120)
    assert out.startswith("interrupted"), err
    # Of CPU time, because the machine may be busy. Two threads may work meanwhile.
    assert float(out.split()[1]) < 0.5, out


def test_a_handler_of_the_program_is_called() -> None:
    code = f"""CONTROLLER = 'cubic'
{LONG}
import signal, threading, os, time
class Mine(Exception): pass
def handler(*_): raise Mine
signal.signal(signal.SIGUSR1, handler)
threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGUSR1))).start()
try:
    study.simulate()
except Mine:
    print("handled", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    out, err = python(code).communicate(timeout=120)
    assert out == "handled True\n", err


def test_the_lock_is_free_while_rust_works() -> None:
    ticks = []
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.001):
            ticks.append(time.process_time())

    thread = threading.Thread(target=tick)
    study = ac.Experiment("lessons/1-slow-start").set("duration", "100 s")
    thread.start()
    study.simulate()
    over.set()
    thread.join()
    assert len(ticks) > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_after_a_fork(small: dict[str, Any], tmp_path: Path) -> None:
    study = ac.Experiment(small)
    here = study.run(tmp_path / "parent").summary.to_dict()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if study.run(tmp_path / "child").summary.to_dict() == here else 2
        finally:
            os._exit(status)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child hangs")


def test_threads_may_run_at_once(small: dict[str, Any]) -> None:
    metrics: list[Any] = []

    class Mine(ac.Controller):
        def on_ack(self, ack: ac.Ack) -> None:
            self.cwnd += ack.growth / 2

        def on_congestion(self, event: ac.Congestion) -> None:
            self.cwnd /= 2

    def run() -> None:
        metrics.append(ac.Experiment({**small, "flow": [{"controller": Mine}]}).simulate().metrics)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(metrics) == 4
    assert all(one == metrics[0] for one in metrics)


def test_an_exception_of_the_progress_ends_the_run() -> None:
    def progress(*_: Any) -> None:
        raise LookupError("as tested")

    study = ac.Experiment("lessons/1-slow-start").set("duration", "3000 s")
    with pytest.raises(LookupError, match="as tested"):
        study.simulate(progress=progress)


def test_an_import_needs_the_standard_library_alone() -> None:
    code = "import sys, ackclock; print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'polars', 'pandas', 'altair', 'pyarrow', 'gymnasium')])"
    out, err = python(code).communicate(timeout=60)
    assert out == "[]\n", err


def test_the_command() -> None:
    assert command("--version").stdout.startswith("ackclock 0.")
    assert command("compare", "cubic").returncode == 2
    assert "a library" in command("bench", "--against", sys.executable).stderr


def test_standard_error_is_silent(
    small: dict[str, Any], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ac.Experiment(small).run(tmp_path)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
