"""A host whose krond is killed at a line of its own, and what must hold once the next has started.

What ran is known from a file that the runs themselves append to, not from krond. The clock is
another than the host's: in `DUE_S` the jobs are due, and no test has to wait for that.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.krond.state.record import Ended, JobState
from kron.krond.state.schema import from_json
from tests.krond.accounts import contradictions
from tests.krond.host import Host
from tests.logbook import PATIENCE_S, wait_for
from tests.soak import SOAK

DUE_S = int(datetime(2030, 1, 15, 10, 10, tzinfo=UTC).timestamp())
NEXT_S = DUE_S + 60
SCHEDULE = "10,11 10 15 1 *"
"""The two periods of the year that jobs have here: at `DUE_S` and at `NEXT_S`."""
CAUGHT_UP = "@policy(concurrency=allow,deadline=10m)"
"""A deadline that is longer than any restart takes, so that no period may be lost."""

Ran = tuple[str, str]
"""A job's name and a period."""


class Fault(Frozen):
    """Where krond is killed: see `Fault` in faulty.py."""

    at: int
    """At which line, counted from 1; 0: nowhere, but the lines are told."""
    since: str = "timer"
    """Where number 1 is: when the `timer` fires, or at the `beginning`."""
    side: str = "krond"
    victim: str = "self"


class Point(Frozen):
    """A line that krond came by."""

    number: int
    place: str
    effects: tuple[str, ...]
    """The calls of consequence since the line before. None: nothing has changed outside."""

    def __str__(self) -> str:
        return f"line {self.number}, {self.place}"


class Server:
    """The process that forks kronds, so that a start takes a tenth of a second less."""

    def __init__(self) -> None:
        program = Path(__file__).with_name("faulty.py")
        self._process = subprocess.Popen(
            [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, **request: Any) -> Any:
        """The answer to a request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Forked:
    """A krond that the server has forked; it is used as a `Popen` is."""

    def __init__(self, server: Server, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = self._server.ask(wait=self.pid)["code"]
        return self.returncode

    def wait(self, patience_s: float = PATIENCE_S) -> int:
        """Its exit code, once it has ended."""
        wait_for(lambda: self.poll() is not None, "the end of krond", patience_s)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class FaultyHost(Host):
    """A host with kronds of a `Server`."""

    def __init__(self, directory: Path, server: Server, *, state: Path | None = None) -> None:
        super().__init__(directory, state=state)
        self.ran_file = directory / "ran.txt"
        self._server = server
        self._report = directory / "report.txt"
        self._saved = directory / "saved"
        self._gate = directory / "gate"

    def __enter__(self) -> FaultyHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.end_runs()

    def job(
        self, name: str, *fields: str, policy: str = CAUGHT_UP, then: str = "", schedule: str = ""
    ) -> str:
        """A line of the krontab file. A run appends itself to the file with one write."""
        record = f"echo $KRON_JOB $KRON_PERIOD $KRON_RUN_ID $$ >> {self.ran_file}"
        command = f'command="{"; ".join(filter(None, (record, then)))}"'
        # krond passes on the environment that its server had; by this one a run is found again.
        mark = f"env=KRON_TEST={self.directory}"
        return " ".join(
            (schedule or SCHEDULE, policy, f"name={name} shell=true", command, mark, *fields)
        )

    def launch(self, *options: str, **what: Any) -> None:
        """Start krond, at the time `begin_s`; without it, by the host's clock.

        With `due_s` the clock jumps there as the loop begins. With `gated` as well, that is not
        before `open_gate`. `fault` is where it is killed, `boot_id` the boot that it is in.
        """
        assert self.process is None, "one krond at a time"
        fault: Fault | None = what.get("fault")
        self._seen = self._count_ready()
        self._report.unlink(missing_ok=True)
        if what.get("gated"):
            self._gate.touch()
        answer = self._server.ask(
            words=[*self.words(*options)[3:]],
            output=str(self.output),
            begin_ns=int(what.get("begin_s", 0) * SECOND_NS),
            due_ns=what.get("due_s", 0) * SECOND_NS,
            gate=str(self._gate) if what.get("gated") else "",
            boot_id=what.get("boot_id", ""),
            fault=None
            if fault is None
            else {
                "at": fault.at,
                "since": fault.since,
                "side": fault.side,
                "victim": fault.victim,
                "report": str(self._report),
            },
        )
        self.process = cast("Any", Forked(self._server, answer["pid"]))

    def open_gate(self) -> None:
        """Let the loop begin."""
        self._gate.unlink()

    def wait_until_ready(self) -> None:
        """As ever, without reading a long log again and again."""
        process = self.process
        assert process is not None

        def is_ready() -> bool:
            assert process.poll() is None, self.said()
            return self._count_ready() > self._seen

        wait_for(is_ready, "krond is ready")

    def _count_ready(self) -> int:
        return self.log.read_bytes().count(b" event=ready ") if self.log.exists() else 0

    def be_seen(self) -> None:
        """Let krond see the jobs before they are due, so that it owes what comes."""
        self.start(begin_s=DUE_S - 30)
        self.kill()
        shutil.copytree(self.state, self._saved, ignore=shutil.ignore_patterns("*.sock"))

    def restore(self) -> None:
        """Have the state as it was then, and nothing else of what has happened since."""
        self.kill()
        self.end_runs()
        shutil.rmtree(self.state)
        shutil.copytree(self._saved, self.state)
        for file in (self.ran_file, self.log, self.output):
            file.unlink(missing_ok=True)

    def end_runs(self) -> None:
        """Kill every run that is going on, whoever started it."""

        def is_quiet() -> bool:
            alive = self.runs_alive()
            for pid in alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not alive

        wait_for(is_quiet, "no run is left")

    def crash(self, fault: Fault, is_done: Callable[[], bool], **launch: Any) -> Point | None:
        """Start a krond that is killed, at the latest when `is_done`: where the fault struck."""
        self.launch(fault=fault, **launch)
        process = self.process
        assert process is not None
        wait_for(lambda: process.poll() is not None or is_done(), "krond is killed")
        code = process.poll()
        assert code in (None, -signal.SIGKILL), (code, self.said())
        self.kill()
        self.states()  # every one of them reads
        return next(self.points(), None)

    def recover(self, is_done: Callable[[], bool], **launch: Any) -> None:
        """Start a krond that is not killed, and wait for what it has to do."""
        self.launch(**launch)
        process = self.process
        assert process is not None

        def is_done_by_krond() -> bool:
            assert process.poll() is None, self.said()
            return is_done()

        wait_for(is_done_by_krond, "what was due is done")
        wait_for(lambda: not zombies(process.pid), "no child stays a zombie")

    def kill_at_each_step(
        self,
        is_done: Callable[[], bool],
        check: Callable[[], None],
        *,
        at_s: int = DUE_S,
        every: int = 1,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        """Kill krond at the steps of what is due at `at_s`, and `check` what the next makes of it.

        `prepare` brings about what was before that.
        """
        at_due = {"begin_s": at_s - 1, "due_s": at_s}
        prepare()
        self.crash(Fault(0), is_done, **at_due)
        for point in self.steps(every):
            self.restore()
            prepare()
            where = self.crash(Fault(point.number), is_done, **at_due)
            with told(where or point):
                self.recover(is_done, begin_s=at_s + 1)
                check()

    def steps(self, every: int = 1) -> list[Point]:
        """Where to kill: after each call of consequence, or only every few; in a soak, all."""
        points = list(self.points())
        assert len(points) > 50
        return points if SOAK > 1 else [point for point in points if point.effects][::every]

    def points(self) -> Iterator[Point]:
        """The lines that the krond of the last fault came by; of one that was killed the last."""
        if self._report.exists():
            for line in self._report.read_text().splitlines():
                number, place, effects = line.split("\t")
                yield Point(int(number), place, tuple(effects.split()))

    def runs(self) -> list[tuple[str, str, str, str]]:
        """What ran, by its own account: job, period, run id and process id."""
        if not self.ran_file.exists():
            return []
        rows = []
        for line in self.ran_file.read_text().splitlines():
            job, period, run_id, pid = line.split()
            rows.append((job, period, run_id, pid))
        return rows

    def ran(self) -> Counter[Ran]:
        """How often each period ran."""
        return Counter((job, period) for job, period, _, _ in self.runs())

    def states(self) -> dict[str, JobState]:
        """The state of every job by its name; all of them read, or this fails."""
        states = map(from_json, (file.read_bytes() for file in self.state.glob("*.json")))
        return {state.identity.rpartition(":")[2]: state for state in states}

    def ends(self) -> dict[Ran, list[Ended]]:
        """How the periods ended, by the state files."""
        ends: dict[Ran, list[Ended]] = {}
        for name, state in self.states().items():
            for ended in state.past.history:
                assert ended.nominal_s is not None
                ends.setdefault((name, to_text(ended.nominal_s)), []).append(ended)
        return ends

    def is_over(self, due: Iterable[Ran]) -> bool:
        """Whether these periods have ended, on disk too, and nothing is going on."""
        return self.is_settled() and set(due) <= set(self.ends())

    def is_settled(self) -> bool:
        """Whether nothing is going on or about to, on disk too."""
        if any((self.state / "runs").iterdir()) or any(self.state.glob(".new-*")):
            return False  # replaced files are the last that krond removes
        states = self.states().values()
        return not any(state.active or state.ledger.starting for state in states)

    def check(self, due: Sequence[Ran]) -> None:
        """Every period that was due ran once and no other did, and all accounts agree."""
        assert self.ran() == Counter(due), self.ran()
        ends = self.ends()
        assert Counter({ran: len(ended) for ran, ended in ends.items()}) == Counter(due), ends
        for ran, (ended,) in ends.items():
            assert ended.outcome == "executed", (ran, ended)
        self.check_accounts()

    def check_accounts(self) -> None:
        """The log is whole and in order, and nothing in it speaks against anything else."""
        self.check_log()
        wrong = contradictions(self.records())
        assert not wrong, wrong
        assert not list(self.state.glob("*.corrupt.*"))
        # A krond that lives may be about to remove them.
        wait_for(lambda: not list(self.state.glob(".new-*")), "no new file is left behind")


@contextmanager
def told(*where: Point | None) -> Iterator[None]:
    """Say with a failure where krond was killed."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"killed before {', '.join(map(str, where))}") from error


def zombies(pid: int) -> list[int]:
    """The children of a process that have ended and wait for it to look."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if _is_zombie(child)]


def _is_zombie(pid: str) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it was reaped meanwhile
        return False
    return stat.rpartition(")")[2].split()[0] == "Z"
