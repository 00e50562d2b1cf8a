"""A Slurm of one node, for tests: munge, slurmctld and slurmd of the system's packages.

Everything is in one folder, nothing is installed, and all daemons end with the context.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

#: Seconds until the node is to be ready.
_PATIENCE = 60.0

_CONFIG = """\
ClusterName=ackclock
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SwitchType=switch/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class NoSlurmError(Exception):
    """The reason why Slurm cannot be started here."""


class Node:
    """A Slurm of one node, as a context. Its `environment` is that of the clients."""

    def __init__(self) -> None:
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Node:
        for program in ("munged", "slurmctld", "slurmd", "sbatch"):
            if _found(program) is None:
                message = f"there is no {program}; apt-get install munge slurmctld slurmd"
                raise NoSlurmError(message)
        # The path of a socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="ackclock-slurm-", dir="/tmp"))
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        why: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _start(self) -> None:
        folder = self.folder
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        config = _CONFIG.format(
            host=socket.gethostname().split(".")[0],
            ports=_free_ports(),
            user=getpass.getuser(),
            folder=folder,
            processors=os.cpu_count(),
        )
        (folder / "slurm.conf").write_text(config)
        files = {
            name: f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")
        }
        self._daemon("munged", "-F", "--force", *files.values(), f"--socket={folder}/munge.socket")
        self._until(lambda: (folder / "munge.socket").exists(), "munged")
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D")
        self._until(lambda: self.run("sinfo", "-h", "-o", "%T").strip() == "idle", "the node")

    def _daemon(self, program: str, *arguments: str) -> None:
        with (self.folder / f"{program}.output").open("wb") as output:
            command = [str(_found(program)), *arguments]
            daemon = subprocess.Popen(command, env=self.environment, stdout=output, stderr=output)
        self._daemons.append(daemon)

    def _until(self, is_ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not is_ready():
            ended = any(daemon.poll() is not None for daemon in self._daemons)
            if ended or time.monotonic() > end:
                outputs = [
                    file.read_text(errors="replace") for file in self.folder.glob("*.output")
                ]
                last = [output.strip().splitlines()[-1] for output in outputs if output.strip()]
                message = f"{what} did not start: {'; '.join(last)}"
                raise NoSlurmError(message)
            time.sleep(0.1)

    def run(self, *command: str) -> str:
        """Run a client. Return its output."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout

    def _stop(self) -> None:
        self.run("scancel", "--user", getpass.getuser())
        end = time.monotonic() + _PATIENCE
        while self.run("squeue", "-h").strip() and time.monotonic() < end:
            time.sleep(0.1)
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def _free_ports() -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports: list[int] = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


if __name__ == "__main__":
    with Node() as node:
        print(node.run("sinfo"), node.run("srun", "hostname"))
