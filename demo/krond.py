"""What the daemon can show: `make demo` runs this last, and it takes about twenty seconds.

A real krond in a directory of its own runs real processes at the seconds chosen for them. It is
killed with -9 in the middle, started again, stopped, and its log replayed. Nothing is left behind.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import kron
from kron.logs import Record, read

COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ
PATIENCE_S = 30
LEAD_S = 3
"""How long after the file is written the first job is due: krond is ready well before."""
LONG = timedelta(minutes=5)
KILLED_S = 5
BACK_S = 9
JOBS = (
    ("hello", 0, "", ""),
    ("check", 1, "", "; exit 3"),
    ("backup", 2, "", "; sleep 11"),
    ("mail", 7, "@policy(deadline=1m)", ""),
    ("stats", 7, "", ""),
    ("tidy", 11, "", ""),
)
"""Name, second of the story, policy, and what the job does after it has left a line in runs.txt."""
COLOUR_OF = {"started": "32", "adopted": "32", "exited": "36", "missed_deadline": "33"}


def main() -> None:
    """The story, in a directory that is gone afterwards."""
    with TemporaryDirectory(prefix="kron-demo-") as directory, stage(Path(directory)) as story:
        story.tell()


@contextmanager
def stage(place: Path) -> Iterator[Story]:
    """A place for a story. However that ends, no process of it is left."""
    story = Story(place)
    try:
        yield story
    finally:
        story.clear_up()


class Story:
    """One krond, its jobs and its log."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.config = place / "jobs.kron"
        self.log = place / "state" / "krond.log"
        self.begins_s = 0
        self._read_bytes = 0
        self._runs: dict[str, int] = {}
        """The pid of every run that has started and not ended."""

    def tell(self) -> None:
        """Everything, in order."""
        self.begins_s = int(time.time()) + 1 + LEAD_S
        title("Six jobs, each with a minute in which it may run", "their commands cut off")
        self.config.write_text("".join(self._line(*job) for job in JOBS))
        self.config.chmod(0o600)
        self._run("sed 's/ command=.*//' jobs.kron")

        title("krond chooses a second for each, and runs it then", "its log, in short")
        self._run("krond start --config jobs.kron --state-dir state --output-dir output")
        self._show_until_s(KILLED_S - 1)
        self._run("krond status --state-dir state")

        title("kill -9, in the middle of the backup", "krond is gone; its run is not")
        self._kill()
        self._show_until_s(BACK_S)

        title("krond is back", "one run adopted, one caught up, one too late: no deadline")
        self._run("krond start --config jobs.kron --state-dir state --output-dir output")
        self._show_until(lambda: not self._runs and time.time() > self.begins_s + JOBS[-1][1] + 1)
        self._run("krond status --state-dir state")

        title("Each period ran once, or not at all", "written by the runs themselves")
        self._run("sort runs.txt | uniq -c")

        title("Stopped, and every decision of its log made again", "they must agree")
        self._run("krond stop --state-dir state")
        self._run("krontab replay state/krond.log")

    def clear_up(self) -> None:
        """End krond, if it runs, and its runs."""
        command("krond stop --terminate --state-dir state", self.place, quiet=True)
        self._new_records()
        for run_id, pid in self._runs.items():
            with suppress(OSError):
                if f"KRON_RUN_ID={run_id}".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    os.killpg(pid, signal.SIGKILL)

    def _line(self, name: str, second: int, policy: str, rest: str) -> str:
        schedule = schedule_at(f"{self.config}:{name}", self.begins_s + second, policy)
        does = f"echo $KRON_JOB $KRON_PERIOD >> runs.txt{rest}"
        return f'{schedule} name={name} command="{does}" shell=true cwd={self.place}\n'

    def _run(self, words: str) -> None:
        print(paint(f"$ {words}", "2"), flush=True)
        command(words, self.place)

    def _kill(self) -> None:
        answer = command("krond status --state-dir state --format json", self.place, quiet=True)
        pid = json.loads(answer)["pid"]
        print(paint(f"$ kill -9 {pid}", "31"), flush=True)
        os.kill(pid, signal.SIGKILL)

    def _show_until_s(self, second: int) -> None:
        self._show_until(lambda: time.time() >= self.begins_s + second)

    def _show_until(self, is_over: Callable[[], bool]) -> None:
        """Show the log as it grows."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not is_over():
            if time.monotonic() > deadline_s:
                raise SystemExit(f"krond does not go on; its log:\n{self.log.read_text()}")
            self._show_log()
            time.sleep(0.05)
        self._show_log()

    def _show_log(self) -> None:
        for record in self._new_records():
            line = shown(record)
            if line:
                print(paint(line, COLOUR_OF.get(record.event, "0")), flush=True)

    def _new_records(self) -> list[Record]:
        if not self.log.exists():
            return []
        with self.log.open("rb") as log:
            log.seek(self._read_bytes)
            lines = log.read()
        whole = lines[: lines.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        records = [record for _, record in read(BytesIO(whole)) if isinstance(record, Record)]
        for record in records:
            if record.event == "started":
                self._runs[record["run_id"]] = int(record["pid"])
            elif record.event == "exited":
                self._runs.pop(record["run_id"], None)
        return records


def schedule_at(identity: str, at_s: int, policy: str) -> str:
    """A daily schedule whose choice for today is this very second: a matter of finding the salt.

    Do not do this in earnest. A choice falls anywhere in its window, and a demonstration has
    no minute to wait for it.
    """
    at = datetime.fromtimestamp(at_s, UTC)
    nominal = at.replace(second=0)
    for number in range(100_000):
        text = f"{at.minute} {at.hour} * * * @win(after,1m) @seed(stable,salt=s{number}) {policy}"
        schedule = kron.parse_schedule(text.strip())
        if kron.decide(schedule, identity=identity, nominal=nominal).chosen_time == at:
            return text.strip()
    raise AssertionError(f"no salt leads to {at}")


def command(words: str, place: Path, *, quiet: bool = False) -> str:
    """Run a command of ours, or a line for the shell, in `place`: what it printed, if quiet.

    The story ends where a command fails, unless that one is quiet.
    """
    program, _, rest = words.partition(" ")
    if program in ("krond", "krontab"):
        words = f"{shlex.quote(sys.executable)} -m kron.{program} {rest}"
    done = subprocess.run(
        words, shell=True, cwd=place, capture_output=quiet, text=True, check=False
    )
    if done.returncode and not quiet:
        raise SystemExit(f"exit code {done.returncode}: {words}")
    return done.stdout or ""


def shown(record: Record) -> str:
    """What a line of the log says, in a line of the screen; '' for what is not shown."""
    moment = datetime.fromtimestamp(record.time_ns / 1e9, UTC)
    match record.event:
        case "decision" if record["chosen"] < f"{moment:%FT%TZ}":
            what = f"was to run at {clock(record['chosen'])}"
        case "decision" if record["chosen"] > f"{moment + LONG:%FT%TZ}":
            return ""  # tomorrow's
        case "decision":
            what = f"will run at {clock(record['chosen'])}"
        case "started":
            what = f"pid {record['pid']}"
        case "exited":
            what = ending(record)
        case "adopted":
            what = f"pid {record['pid']} is still running, and is watched again"
        case "missed_deadline":
            what = f"was due at {clock(record['chosen'])}: {record['reason']}"
        case "ready":
            what = f"{record['jobs']} jobs"
        case _:
            return ""
    name = record.get("name") or "krond"
    milliseconds = moment.microsecond // 1000
    return f"  {moment:%T}.{milliseconds:03}  {record.event:<15}  {name:<6}  {what}"


def ending(record: Record) -> str:
    """How a run ended."""
    code, number = record.get("exit_code"), record.get("signal")
    how = f"exit code {code}" if code is not None else number or record.get("reason") or ""
    return f"{how}, after {record['seconds']} s"


def clock(instant: str) -> str:
    """The time of day of an instant."""
    return instant[11:19]


def title(what: str, detail: str) -> None:
    """The heading of a scene."""
    print(f"\n{paint(what, '1;36')}  {paint(f'({detail})', '2')}", flush=True)


def paint(text: str, code: str) -> str:
    """`text` in a colour, on a terminal."""
    return f"\x1b[{code}m{text}\x1b[0m" if COLOURS else text


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the reader has gone; everything is cleaned up
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
