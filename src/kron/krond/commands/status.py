"""`krond status`: what the daemon and its jobs are doing."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kron.answers.listing import AT_BOOT
from kron.answers.times import distance
from kron.console.parser import Parser, add_format
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.core.instant import from_text
from kron.krond.control.client import ask_status
from kron.krond.directories import add_state_dir, state_dir_of
from kron.krond.result import result_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

DESCRIPTION = """\
Show what the daemon and its jobs are doing: which runs are active or waiting, which are next, and
how the last ones ended. Exit code 5 means that no krond is running."""
EXAMPLES = (
    ("krond status", "all jobs: the running ones first, then by their next run"),
    ("krond status backup", "one job"),
    ("krond status --format json", "everything, for a script"),
)


_MOST_PIDS = 3


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", nargs="?", default="", help="only this job")
    add_format(parser, names="one name a line")
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    answer = ask_status(state_dir_of(arguments), arguments.job)
    rows = answer["jobs"]
    if arguments.format == "json":
        del answer["ok"]
        for row in rows:
            row["last_output"] = _last_output(answer, row)
        terminal.print_json({"schema": "krond.status/1", **answer})
    elif arguments.format == "names":
        for name in sorted({row["name"] for row in rows}):
            terminal.print(name)
    else:
        for line in _lines(answer, rows, terminal):
            terminal.print(line)
        if arguments.job and (path := _last_output(answer, rows[0])):
            terminal.print(f"last output: {path}")
    return 0


def _lines(answer: dict[str, Any], rows: list[dict[str, Any]], terminal: Terminal) -> Iterator[str]:
    now_s = int(time.time())
    up = distance(now_s - _second(answer["started"]))
    counts = [many(answer["total"], "job"), f"{answer['active']} running"]
    if answer["waiting"]:
        counts.append(f"{answer['waiting']} waiting")
    if answer["stopping"]:
        counts.append(terminal.styled("stopping", "bold", "yellow"))
    yield f"krond {answer['version']}, pid {answer['pid']}, up {up}: {', '.join(counts)}"
    for trouble in answer["troubles"]:
        yield terminal.styled(trouble["text"], "bold", "red")
    if answer["lost_log_lines"]:
        yield terminal.styled(f"{answer['lost_log_lines']} lines of its log were lost", "red")
    for removed in answer["removed"]:
        yield f"{removed['file']}:{removed['name']} was removed, and goes on: {_doing(removed)}"
    if not rows:
        return
    rows.sort(key=lambda row: (not row["active"], not row["waiting"], _next_s(row), row["name"]))
    head = ("NAME", "NEXT RUN (UTC)", "IN", "NOW", "LAST", "AGO")
    shown = [_row(row, now_s) for row in rows]
    styles = {"NAME": "bold", "NOW": "green"}
    yield from terminal.table(head, shown, right=("IN", "AGO"), styles=styles)


def _row(row: dict[str, Any], now_s: int) -> tuple[str, ...]:
    following = row["next"]
    when, until = "", ""
    if row["suspended"]:
        when = "suspended"
    elif following is not None:
        when = following["chosen"]
        until = distance(from_text(when) - now_s)
    elif row["at_boot"]:
        when = AT_BOOT
    last = row["last"]
    ago = "" if last is None or last["ended"] is None else distance(now_s - _second(last["ended"]))
    return row["name"], when, until, _doing(row), result_in_words(last) if last else "", ago


def _doing(row: dict[str, Any]) -> str:
    words = [
        f"{'stopping' if run['stopping'] else 'running'} (pid {run['pid']})"
        for run in row["active"]
    ]
    if left := sum(leftover["processes"] for leftover in row["left_behind"]):
        pids = [str(pid) for leftover in row["left_behind"] for pid in leftover["pids"]]
        more = ", ..." if len(pids) > _MOST_PIDS else ""
        named = f" (pid {', '.join(pids[:_MOST_PIDS])}{more})" if pids else ""
        words.append(f"left behind {left} process{'' if left == 1 else 'es'}{named}")
    words += [
        f"waits: {pending['reason'].partition(': ')[0]}" for pending in row.get("waiting", ())
    ]
    if row.get("clock_behind"):
        words.append("waits for the clock (krond forget)")
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


def _last_output(answer: dict[str, Any], row: dict[str, Any]) -> str | None:
    """The file with the latest output of the job, if one is kept and may be seen."""
    from kron.krond.output.names import directory_name
    from kron.krond.output.reader import kept_outputs

    try:
        directory = directory_name(row["identity"], row["name"])
        outputs = kept_outputs(answer["output_dir"], directory)
    except OSError:
        return None
    return outputs[-1].path if outputs else None


def _next_s(row: dict[str, Any]) -> int:
    return from_text(row["next"]["chosen"]) if row["next"] else 1 << 62


def _second(timestamp: str) -> int:
    return from_text(f"{timestamp[:19]}Z")
