"""`krond start`: start the daemon."""

from __future__ import annotations

import os

from kron.console.parser import (
    Parser,
    add_insecure_config,
    add_log_options,
    add_node_id,
    number_up_to,
    path,
    whole_seconds,
)
from kron.console.terminal import Terminal
from kron.console.usage import UsageError
from kron.core.errors import Code, KronError
from kron.krond.place import LOG_NAME, OUTPUT_NAME, add_state_dir, state_dir_of
from kron.krond.settings import DEFAULT_SLACK_S, UNLIMITED_RUNS, OnStop, Settings, Source
from kron.logs.event import Level
from kron.logs.writer import Format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Start the daemon. It reads its configuration, refuses to start if anything is wrong with it, and
then starts each run at its chosen second. In the background, which is the default, this command
ends when the daemon is ready.

Signals: TERM and INT stop it (twice: stop the runs as well), HUP reads the configuration again,
USR1 opens the log anew after it was moved away."""
EXAMPLES = (
    ("krond start", "run what /etc/krond.d says, in the background"),
    ("krond start --foreground --config jobs.kron --state-dir ./state", "try a file"),
    ("krond start --source cron", "run the crontabs of this host as they are"),
    ("krond start --once --config jobs.kron", "run what is due now, and end"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    what = parser.add_argument_group("what to run")
    what.add_argument(
        "--config",
        type=path,
        action="append",
        default=[],
        metavar="PATH",
        help="a krontab file or a directory of *.kron files; repeatable; "
        "default: /etc/krond.d and ~/.config/krond for root, ~/.config/krond for others",
    )
    what.add_argument(
        "--source",
        choices=tuple(Source),
        action="append",
        default=[],
        help="krontab: the files of --config (default); cron: /etc/crontab, /etc/cron.d and the "
        "users' crontabs as they are; repeatable",
    )
    add_insecure_config(what)
    add_node_id(what)
    how = parser.add_argument_group("how to run")
    add_state_dir(how)
    how.add_argument(
        "--foreground",
        action="store_true",
        help="stay in the foreground, and log to standard error",
    )
    how.add_argument(
        "--once", action="store_true", help="run what is due now, wait for it, and end"
    )
    how.add_argument(
        "--trigger-slack",
        type=whole_seconds,
        default=DEFAULT_SLACK_S,
        metavar="DURATION",
        help="how late a run may start when krond was awake and the host was busy; "
        f"default: {DEFAULT_SLACK_S}s, 0s for the bare rule",
    )
    how.add_argument(
        "--max-running",
        type=number_up_to(1_000_000),
        metavar="N",
        help="at most so many runs at a time; the others wait, and their deadlines count",
    )
    how.add_argument(
        "--on-stop",
        choices=tuple(OnStop),
        default=OnStop.WAIT,
        help="what becomes of runs when krond is stopped; wait: it ends after them (default), "
        "terminate: they are stopped, leave: they go on, and the next krond takes them up",
    )
    how.add_argument("--pid-file", type=path, metavar="PATH", help="write and lock a pid file")
    for name, meaning in (("nofile", "open files"), ("nproc", "processes of a user")):
        how.add_argument(
            f"--limit-{name}",
            type=number_up_to(999_999_999),
            metavar="N",
            help=f"the limit on {meaning} that krond and its runs have; default: as it is",
        )
    logs = parser.add_argument_group("logs")
    logs.add_argument(
        "--log-file",
        type=path,
        metavar="PATH",
        help="where to log; default: standard error in the foreground, else "
        f"{LOG_NAME} in the state directory",
    )
    add_log_options(logs)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    from kron.krond.background import Background, Foreground
    from kron.krond.service import serve
    from kron.krond.state.directory import Directory

    settings = _settings(arguments)
    line: Background | Foreground = Foreground()
    if settings.output_file:
        try:
            Directory.make(settings.state_dir).close()
            line = Background.start(settings.output_file)
        except KronError as error:  # nothing has run, so it is a matter of the directory
            raise KronError(Code.STATE, error.message, error.fix) from None
    return serve(settings, line)


def _settings(arguments: Namespace) -> Settings:
    from kron.jobs.identity import Node, find_node
    from kron.jobs.source import own_access

    state_dir = state_dir_of(arguments)
    is_background = not (arguments.foreground or arguments.once)
    log_file = arguments.log_file or (
        os.path.join(state_dir, LOG_NAME) if is_background else ""  # noqa: PTH118
    )
    sources = tuple(map(Source, arguments.source)) or (Source.KRONTAB,)
    if arguments.config and Source.KRONTAB not in sources:
        message = "--config names krontab files, and --source cron reads none"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="add --source krontab to run both")
    limits = {"NOFILE": arguments.limit_nofile, "NPROC": arguments.limit_nproc}
    return Settings(
        state_dir=state_dir,
        access=own_access(insecure=arguments.allow_insecure_config),
        config=tuple(map(os.path.abspath, arguments.config)),
        sources=sources,
        node=Node() if arguments.node_id is None else find_node(arguments.node_id),
        slack_s=arguments.trigger_slack,
        most_running=arguments.max_running or UNLIMITED_RUNS,
        on_stop=OnStop(arguments.on_stop),
        is_once=arguments.once,
        log_file=log_file and os.path.abspath(log_file),  # noqa: PTH100
        output_file=os.path.join(state_dir, OUTPUT_NAME) if is_background else "",  # noqa: PTH118
        log_format=Format(arguments.log_format),
        log_level=Level(arguments.log_level),
        explain=arguments.explain,
        pid_file=(arguments.pid_file and os.path.abspath(arguments.pid_file)) or "",  # noqa: PTH100
        limits=tuple((name, value) for name, value in limits.items() if value is not None),
    )
