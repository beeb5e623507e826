"""The krontab command as a person meets it: from its start to its exit, in fresh processes.

`next` on a small file is set beside a bare Python and beside scripts that ask croniter and cronsim
for as many times; `lint` beside croniter's own validation of as many expressions; `replay` beside
a loop that only decodes the same lines as JSON.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import kron
from bench.measure import Result, progress
from kron.core.instant import from_text, to_datetime
from kron.logs import Record, decision_records, write_text
from kron.logs.json_lines import write_json

ROUNDS = 15
NEXT_BUDGET_MS = 100
LINT_BUDGET_S = 3
JOBS = 10_000
LOG_LINES = 200_000
LOG_JOBS = 500
REPLAY_TARGET = 100_000

_AT = "2026-03-01"
_SMALL = '0 2 * * * @tz(Europe/Paris) @win(after,3h) name=backup command="/usr/bin/true --all"\n'
_SCRIPTS = {
    "bare Python": "pass",
    "croniter": "from croniter import croniter\nfrom datetime import datetime\n"
    "i = croniter('0 2 * * *', datetime(2026, 3, 1))\nprint([i.get_next() for _ in range(5)])",
    "cronsim": "from cronsim import CronSim\nfrom datetime import datetime\n"
    "i = CronSim('0 2 * * *', datetime(2026, 3, 1))\nprint([next(i) for _ in range(5)])",
}
_VALIDATE = "import sys\nfrom croniter import croniter\n" + (
    "print(all(croniter.is_valid(' '.join(line.split()[:5])) for line in open(sys.argv[1])))"
)


def measure() -> Iterator[Result]:
    """`next`, `lint` and `replay`."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{directory}/cache"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        yield _next(place, environment)
        yield from _lint(place, environment)
        yield from _replay(place, environment)


def _next(place: Path, environment: dict[str, str]) -> Result:
    progress("krontab next ...")
    file = _written(place / "small.kron", _SMALL)
    commands = {name: [sys.executable, "-c", script] for name, script in _SCRIPTS.items()}
    commands["krontab"] = _krontab("next", "backup", "--file", file, "--at", _AT)
    least_s = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, command in commands.items():
            least_s[name] = min(least_s[name], _seconds(command, environment))
    took_ms = least_s.pop("krontab") * 1e3
    return Result(
        "krontab next, from start to exit",
        took_ms,
        "ms",
        f"< {NEXT_BUDGET_MS}",
        took_ms < NEXT_BUDGET_MS,
        {f"{name} ms": seconds * 1e3 for name, seconds in least_s.items()},
    )


def _lint(place: Path, environment: dict[str, str]) -> Iterator[Result]:
    progress("krontab lint ...")
    lines = list(_jobs(JOBS))
    whole = _written(place / "whole.kron", "".join(lines))
    half = _written(place / "half.kron", "".join(lines[: JOBS // 2]))
    empty = _written(place / "empty.kron", "")

    def lint(file: str) -> list[str]:
        return _krontab("lint", "--file", file, "--at", _AT, "--format", "short")

    took_s = min(_seconds(lint(whole), environment) for _ in range(3))
    validate = [sys.executable, "-c", _VALIDATE, whole]
    peer_s = min(_seconds(validate, environment) for _ in range(3))
    yield Result(
        f"krontab lint of {JOBS:,} jobs",
        took_s,
        "s",
        f"< {LINT_BUDGET_S}",
        took_s < LINT_BUDGET_S,
        {"s for croniter to validate the cron fields alone": peer_s},
    )
    least, middle, most = (_peak_kib(lint(file), environment) for file in (empty, half, whole))
    yield Result(
        f"memory of lint: {JOBS:,} jobs / {JOBS // 2:,}",
        (most - least) / (middle - least),
        "times as much",
        "< 2.5",
        (most - least) / (middle - least) < 2.5,
        {"KiB a job": (most - least) / JOBS, "MiB without jobs": least / 1024},
    )


def _replay(place: Path, environment: dict[str, str]) -> Iterator[Result]:
    progress("krontab replay ...")
    text, lines = place / "krond.log", place / "krond.jsonl"
    with text.open("w") as text_file, lines.open("w") as json_file:
        for record in _decisions():
            text_file.write(write_text(record) + "\n")
            json_file.write(write_json(record) + "\n")
    packed = place / "krond.log.gz"
    packed.write_bytes(gzip.compress(text.read_bytes(), 6))
    decode = f"import json\nfor line in open({str(lines)!r}): json.loads(line)"
    idle_s = _seconds(_krontab("replay", os.devnull), environment)
    peer_s = min(_seconds([sys.executable, "-c", decode], environment) for _ in range(2))
    for name, file in (("text", text), ("JSON", lines), ("gzip", packed)):
        progress(f"krontab replay, {name} ...")
        took_s = (
            min(_seconds(_krontab("replay", str(file)), environment) for _ in range(2)) - idle_s
        )
        rate = LOG_LINES / took_s
        yield Result(
            f"krontab replay, {name}, all lines decisions",
            rate,
            "lines/s",
            f"near {REPLAY_TARGET:,}",
            rate > 0.8 * REPLAY_TARGET,
            {"lines/s only to decode them as JSON": LOG_LINES / peer_s},
        )


def _jobs(count: int) -> Iterator[str]:
    """Lines as different as a large fleet's."""
    chance = random.Random(4)
    zones = ("UTC", "Europe/Paris", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe")
    for number in range(count):
        minute, hour = chance.randrange(60), chance.randrange(24)
        cron = chance.choice(
            [
                f"{minute} {hour} * * *",
                f"*/{chance.choice([5, 7, 10, 15])} * * * *",
                f"{minute} */{chance.choice([2, 3, 5])} * * *",
                f"{minute} {hour} * * MON-FRI",
                f"{minute} {hour} {chance.randrange(1, 29)} * *",
            ]
        )
        modifiers = [f"@tz({chance.choice(zones)})"]
        if chance.random() < 0.7:
            modifiers.append(f"@win(after,{chance.randrange(1, 300)}s)")
        if chance.random() < 0.3:
            modifiers.append(f"@only(hours={hour}-23)")
        if chance.random() < 0.3:
            modifiers.append(f"@policy(deadline={chance.randrange(1, 100)}m)")
        yield f'{cron} {" ".join(modifiers)} name=job-{number} command="/usr/bin/true {number}"\n'


def _decisions() -> Iterator[Record]:
    """One decision after another, of five hundred jobs in turn."""
    after = to_datetime(from_text("2026-03-01T00:00:00Z"))
    coming = []
    for number in range(LOG_JOBS):
        text = f"{number % 60} * * * * @tz(Europe/Paris) @win(after,{number % 50 + 10}m)"
        schedule = kron.parse_schedule(text)
        identity = f"/etc/krond.d/app.kron:job-{number}"
        coming.append((number, text, kron.upcoming(schedule, identity=identity, after=after)))
    for _ in range(LOG_LINES // LOG_JOBS):
        for number, text, decisions in coming:
            (decision,) = islice(decisions, 1)
            yield from decision_records(
                decision,
                namespace="/etc/krond.d/app.kron",
                name=f"job-{number}",
                time_ns=decision.nominal_s * 10**9 + 123_456_789,
                schedule_text=text,
            )


def _krontab(*words: str) -> list[str]:
    return [sys.executable, "-m", "kron.krontab", *words]


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    start = perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - start


def _peak_kib(command: list[str], environment: dict[str, str]) -> int:
    """The peak memory of one process: RUSAGE_CHILDREN of a process that has no other child."""
    program = (
        "import json, resource, subprocess, sys\n"
        "subprocess.run(json.loads(sys.argv[1]), stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    asked = [sys.executable, "-c", program, json.dumps(command)]
    return int(subprocess.run(asked, env=environment, capture_output=True, check=True).stdout)


def _written(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o600)
    return str(path)
