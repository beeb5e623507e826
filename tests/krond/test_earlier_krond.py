"""The commands of this version, and the krond that it replaces: one is there before the other."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kron.krond.state.lock import lock
from kron.krond.state.names import PID_FILE, SOCKET_NAME
from kron.krond.state.owner import running_pid
from tests.krond.commands import NEVER, Completed, krond
from tests.krond.host import Host
from tests.krontab.schemas import validate

STATUS: dict[str, Any] = {
    "ok": True,
    "version": "0.1.0",
    "pid": os.getpid(),
    "started": "2026-03-01T02:00:00.000000000Z",
    "state_dir": "/var/lib/krond",
    "log_file": "",
    "lost_log_lines": 0,
    "output_file": "",
    "stopping": False,
    "active": 0,
    "waiting": 0,
    "max_running": None,
    "total": 1,
    "jobs": [
        {
            "name": "backup",
            "file": "/etc/krond.d/jobs.kron",
            "identity": "/etc/krond.d/jobs.kron:backup",
            "schedule": "0 3 * * *",
            "description": "",
            "suspended": False,
            "clock_behind": False,
            "next": None,
            "active": [],
            "waiting": [],
            "last": None,
            "last_run": None,
        }
    ],
}
"""What the first version of krond answers."""


@contextmanager
def earlier_krond(state: Path, **more: object) -> Iterator[list[dict[str, Any]]]:
    """A krond of the first version, which locks krond.pid only. Yields what it is asked.

    `more` are answers to commands that it does not know.
    """
    asked: list[dict[str, Any]] = []
    held = lock(str(state / PID_FILE))
    answers: dict[str, object] = {"stop": {"ok": True, "active": 2}, "status": STATUS} | more
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(state / SOCKET_NAME))
        server.listen()

        def serve(connection: socket.socket) -> None:
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    asked.append(json.loads(line))
                    command = asked[-1]["command"]
                    answer = answers.get(command) or {
                        "ok": False,
                        "error": f'the command "{command}" does not exist',
                    }
                    connection.sendall(json.dumps(answer).encode() + b"\n")
                    if command == "stop":
                        server.shutdown(socket.SHUT_RDWR)

        def accept() -> None:
            with suppress(OSError):  # it was stopped
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=serve, args=(connection,)).start()
            server.close()
            time.sleep(0.1)  # its runs end
            held.release()

        thread = threading.Thread(target=accept)
        thread.start()
        yield asked
        if thread.is_alive():
            krond("stop", "--state-dir", state)
        thread.join()


def ask(state: Path, *words: str) -> Completed:
    return krond(*words, "--state-dir", state)


def test_an_earlier_krond_is_found_by_its_only_lock_and_its_end_is_waited_for(
    tmp_path: Path,
) -> None:
    with earlier_krond(tmp_path):
        assert running_pid(str(tmp_path)) == os.getpid()
        stopped = ask(tmp_path, "stop")
        assert (stopped.returncode, stopped.stderr) == (0, "")
        assert running_pid(str(tmp_path)) is None


def test_only_a_krond_that_cannot_say_how_it_ends_is_taken_to_end_well(tmp_path: Path) -> None:
    with earlier_krond(tmp_path, end={"ok": False, "error": "no room"}):
        stopped = ask(tmp_path, "stop")
        assert (stopped.returncode, stopped.stderr) == (1, "krond: no room\n")


def test_the_status_of_an_earlier_krond_is_shown(tmp_path: Path) -> None:
    with earlier_krond(tmp_path):
        shown = ask(tmp_path, "status", "backup")
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "krond 0.1.0" in shown.stdout
        document = json.loads(ask(tmp_path, "status", "--format", "json").stdout)
        validate(document)
        assert (document["troubles"], document["jobs"][0]["failed"]) == ([], None)


def test_an_earlier_krond_keeps_no_output(tmp_path: Path) -> None:
    with earlier_krond(tmp_path):
        refused = ask(tmp_path, "output", "backup", "--output-dir", str(tmp_path / "none"))
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "its output is not kept" in refused.stderr


def test_whether_the_jobs_of_an_earlier_krond_are_well_is_unknown(tmp_path: Path) -> None:
    """It does not say which of them have failed, so nothing else would be true."""
    with earlier_krond(tmp_path):
        checked = ask(tmp_path, "check")
        assert (checked.returncode, "another version" in checked.stdout) == (3, True)


def test_every_answer_to_an_earlier_command_has_what_it_reads(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        host.write(f"{NEVER} name=job command=/bin/true")
        host.start()
        answer = host.ask("status")
        assert STATUS.keys() <= answer.keys()
        assert STATUS["jobs"][0].keys() <= answer["jobs"][0].keys()
        assert host.ask("stop")["active"] == 0
        assert host.wait() == 0
