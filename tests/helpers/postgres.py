"""A PostgreSQL server for one test: in a temporary folder, on the loopback, with a password."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

INSTALLED = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
"""Where Debian puts the programs of each version."""
PASSWORD = "correct-horse"  # output or a file that contains the password is a leak


class Postgres:
    """A running server, and its one database."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.port = _free_port()
        self.user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        if self.user:
            shutil.chown(folder, self.user)

    @property
    def address(self) -> str:
        """The server's address for ``sweep.storage``."""
        return f"postgresql://tester:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        """Make the files of a new server, which lets nobody in without the password."""
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if self.user:
            shutil.chown(secret, self.user)
        self._run("initdb", "--username=tester", f"--pwfile={secret}", "--auth=scram-sha-256")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off"
        self._run("pg_ctl", "start", f"--options={settings}", f"--log={self.folder / 'log'}")

    def stop(self) -> None:
        """Stop at once, as in a power failure."""
        self._run("pg_ctl", "stop", "--mode=immediate")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self.programs / program, f"--pgdata={self.folder / 'data'}", *arguments],
            user=self.user,
            cwd=self.folder,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a server while the context lasts; skip the test if PostgreSQL is not installed."""
    if not INSTALLED:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg")
    folder = Path(
        tempfile.mkdtemp(prefix="postgres-")
    )  # the server's user cannot enter pytest's folder
    server = Postgres(INSTALLED[-1], folder)
    try:
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
