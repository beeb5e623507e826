"""`krond history`: how periods and runs ended."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from itertools import chain

from kron.console.parser import Parser, add_format, number_up_to, past_moment
from kron.console.terminal import Terminal, json_text
from kron.core.errors import columns, visible
from kron.core.instant import to_seconds
from kron.krond.directories import add_output_dir, add_state_dir, state_dir_of, used_output_dir_of
from kron.krond.history.reader import OUTCOMES, HistoryReader, Selection, open_history
from kron.krond.output.reader import KeptOutputs
from kron.krond.result import result_text
from kron.krond.state.record import RETRIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOWN = 50
"""How many rows are shown if the command line does not say."""

DESCRIPTION = f"""\
Show every period and every manual run that has ended, the latest last: the last {SHOWN} or, with
--since or --until, all of that time. It reads the file of the state directory, so krond need not
be running, and does not notice. krond keeps the last 1,000 of each job.

LATE is from the chosen time to the start, TOOK from the start to the end. CPU is the time that all
processes of a run used, MEMORY the most that they had at one time; these columns are shown where
runs have a cgroup of their own. A result is `ok`, an exit code, a signal, or what else became of
the period: skipped, missed (several at once with their count), unschedulable. A run failed if its
exit code is not 0, if a signal ended it, or if krond stopped it: for its timeout, for a later run.
OUTPUT is the run id of a run whose output is kept: `krond output JOB --run ID` shows it."""
EXAMPLES = (
    ("krond history", f"the last {SHOWN}, of all jobs"),
    ("krond history backup --since 24h", "one job, the last 24 hours"),
    ("krond history --outcome failed --limit 10", "the last 10 runs that failed"),
    ("krond history --since 2026-03-01 --format json", "for a script"),
)
_TIME_WIDTH = len("2026-03-01T02:32:20Z")
_RESULT_WIDTH = len("ended, result unknown")
_RUN_ID_WIDTH = 20
_TO_THE_RIGHT = ("LATE", "TOOK", "CPU", "MEMORY")


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "jobs",
        metavar="JOB",
        nargs="*",
        help="only these: a name, or <absolute path of its file>:<name>",
    )
    for option, what in (("--since", "at or after"), ("--until", "before")):
        parser.add_argument(
            option,
            type=past_moment,
            metavar="TIME",
            help=f"what ended {what} this time, such as 2026-03-01T02:30:00Z or 24h (ago)",
        )
    parser.add_argument(
        "--outcome",
        choices=tuple(OUTCOMES),
        default="",
        help="ok or failed: runs with this result; otherwise what became of the period",
    )
    parser.add_argument(
        "--limit",
        type=number_up_to(999_999_999),
        metavar="N",
        help=f"the last N; default: {SHOWN}, or all with --since or --until",
    )
    add_format(parser)
    add_state_dir(parser)
    add_output_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    selection = _selection(arguments)
    state_dir = state_dir_of(arguments)
    outputs = KeptOutputs(used_output_dir_of(arguments, state_dir))
    with open_history(state_dir) as reader:
        rows = iter(()) if reader is None else _with_outputs(reader.rows(selection), outputs)
        if arguments.format == "json":
            _print_json(rows, terminal)
        elif reader is not None and (first := next(rows, None)) is not None:
            _print_table(reader, selection, chain([first], rows), terminal)
        else:
            is_empty = reader is None or selection == Selection(limit=selection.limit)
            terminal.error("nothing has ended yet" if is_empty else "nothing that matches")
    return 0


def _selection(arguments: Namespace) -> Selection:
    since, until, limit = arguments.since, arguments.until, arguments.limit
    return Selection(
        jobs=tuple(arguments.jobs),
        since_s=None if since is None else to_seconds(since),
        until_s=None if until is None else to_seconds(until),
        outcome=arguments.outcome,
        limit=SHOWN if limit is since is until is None else limit,
    )


def _with_outputs(rows: Iterator[dict[str, Any]], outputs: KeptOutputs) -> Iterator[dict[str, Any]]:
    for row in rows:
        row["output"] = outputs.path_of(row["identity"], row["name"], row["run_id"])
        yield row


def _print_json(rows: Iterator[dict[str, Any]], terminal: Terminal) -> None:
    """Print what `Terminal.print_json` would, row by row: there may be millions."""
    write = terminal.output.write
    write('{\n  "schema": "krond.history/1",\n  "rows": [')
    separator = "\n"
    for row in rows:
        text = json_text(row)
        write(f"{separator}    {text.replace(chr(10), f'{chr(10)}    ')}")
        separator = ",\n"
    write("]\n}\n" if separator == "\n" else "\n  ]\n}\n")


def _print_table(
    reader: HistoryReader, selection: Selection, rows: Iterator[dict[str, Any]], terminal: Terminal
) -> None:
    name_width = max(columns(visible(reader.longest_name(selection))), len("NAME"))
    usage = {"CPU": 8, "MEMORY": 8} if reader.has_usage(selection) else {}
    widths = (name_width, *[_TIME_WIDTH] * 3, 8, 9, *usage.values())
    widths = (*widths, _RESULT_WIDTH, _RUN_ID_WIDTH, 0)
    head = (
        *("NAME", "PERIOD (UTC)", "CHOSEN (UTC)", "STARTED (UTC)"),
        *("LATE", "TOOK", *usage, "RESULT", "OUTPUT", "REASON"),
    )
    terminal.print(_line(head, widths, terminal, dict.fromkeys(head, "dim"), head))
    for row in rows:
        styles = {"NAME": "bold"}
        if row["succeeded"] is False or row["outcome"] == "missed":
            styles["RESULT"] = "red"
        elif row["succeeded"]:
            styles["RESULT"] = "green"
        terminal.print(_line(_cells(row, has_usage=bool(usage)), widths, terminal, styles, head))


def _cells(row: dict[str, Any], *, has_usage: bool) -> tuple[str, ...]:
    result = result_text(row)
    if row["outcome"] == RETRIED:
        result = f"{result}, {RETRIED}"
    if row["count"] > 1:
        result = f"{result} x{row['count']}"
    usage = (_duration(row["cpu_seconds"]), _size(row["peak_memory"])) if has_usage else ()
    return (
        visible(row["name"]),
        row["period"] or "manual",
        row["chosen"] or "",
        f"{row['started'][:19]}Z" if row["started"] else "",
        _duration(row["late_seconds"]),
        _duration(row["took_seconds"]),
        *usage,
        result,
        row["run_id"] if row["output"] else "",
        visible(row["reason"]),
    )


def _duration(seconds: float | None) -> str:
    """`0.004s`, `12.1s`, `2h 32m`."""
    from kron.answers.times import distance

    if seconds is None:
        return ""
    if abs(seconds) >= 60:
        return distance(round(seconds))
    return f"{seconds:.3f}s" if abs(seconds) < 1 else f"{seconds:.1f}s"


def _size(count: int | None) -> str:
    """`640K`, `1.5M`, `2.0G`: in units of 1024, as a line has them."""
    if count is None:
        return ""
    if count < 2**20:
        return f"{count / 2**10:.0f}K"
    return f"{count / 2**20:.1f}M" if count < 2**30 else f"{count / 2**30:.1f}G"


def _line(
    cells: tuple[str, ...],
    widths: tuple[int, ...],
    terminal: Terminal,
    styles: dict[str, str],
    head: tuple[str, ...],
) -> str:
    """A line of the table. The widths are fixed before the first row is known."""
    shown = []
    for name, text, width in zip(head, cells, widths, strict=True):
        styled = terminal.styled(text, styles[name]) if name in styles else text
        padding = " " * (width - columns(text))
        shown.append(padding + styled if name in _TO_THE_RIGHT else styled + padding)
    return "  ".join(shown).rstrip(" ")
