"""`krond start`: start the daemon."""

from __future__ import annotations

import os
from argparse import SUPPRESS, Namespace
from contextlib import suppress

from kron.console.parser import (
    Parser,
    UsageError,
    add_insecure_config,
    add_log_options,
    add_node_id,
    number_up_to,
    path,
    whole_seconds,
)
from kron.console.terminal import Terminal
from kron.core.duration import SECOND_NS, format_duration
from kron.core.errors import Code, KronError, visible
from kron.krond.configuration.settings import (
    DEFAULT_CLOCK_HOLD_S,
    UNLIMITED_RUNS,
    JobSource,
    KrondSettings,
    OnStop,
    OutputSettings,
)
from kron.krond.directories import (
    add_output_dir,
    add_state_dir,
    check_apart,
    output_dir_of,
    state_dir_of,
)
from kron.krond.handover import CHECK, Handover
from kron.krond.notices.mailer import sendmail
from kron.krond.state.names import LOG_NAME, OUTPUT_NAME
from kron.logs.event import Level
from kron.logs.writer import Format
from kron.runtime import DEFAULT_SLACK_S

DESCRIPTION = """\
Start the daemon. It reads its configuration, refuses to start if that has an error, and then starts
each run at its chosen second. In the background, which is the default, this command ends when the
daemon is ready.

Signals: TERM and INT stop it (a second one also stops the runs), HUP makes it read its
configuration again, USR1 makes it open its log file again after a rotation, USR2 makes it go on as
the program that is installed now (krond upgrade)."""
EXAMPLES = (
    ("krond start", "run the jobs of /etc/krond.d, in the background"),
    ("krond start --foreground --config jobs.kron --state-dir ./state", "try a file"),
    ("krond start --source cron", "run the crontabs of this host as they are"),
    ("krond start --once --config jobs.kron", "run the jobs that are due now, and exit"),
)
_OUTPUTS = OutputSettings()


def add_arguments(parser: Parser) -> None:
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
        choices=tuple(JobSource),
        action="append",
        default=[],
        help="krontab: the files of --config (default); cron: /etc/crontab, /etc/cron.d and the "
        "users' crontabs as they are; repeatable",
    )
    add_insecure_config(what)
    add_node_id(what)
    how = parser.add_argument_group("how to run")
    how.add_argument(CHECK, metavar="FORMAT", help=SUPPRESS)
    add_state_dir(how)
    how.add_argument(
        "--foreground", action="store_true", help="stay in the foreground and log to standard error"
    )
    how.add_argument(
        "--once", action="store_true", help="run the jobs that are due now, wait for them, and exit"
    )
    how.add_argument(
        "--trigger-slack",
        type=whole_seconds,
        default=DEFAULT_SLACK_S,
        metavar="DURATION",
        help="how late a run without a deadline may start because the host was busy; "
        f"default: {DEFAULT_SLACK_S}s",
    )
    how.add_argument(
        "--clock-hold",
        type=whole_seconds,
        default=DEFAULT_CLOCK_HOLD_S,
        metavar="DURATION",
        help="how long to wait before believing a clock that jumped by hours; "
        f"default: {format_duration(DEFAULT_CLOCK_HOLD_S * SECOND_NS)}, 0s to believe it at once",
    )
    how.add_argument(
        "--catch-up-spread",
        type=whole_seconds,
        default=0,
        metavar="DURATION",
        help="spread the runs that are overdue after downtime over this time; "
        "default: 0s, they start at once",
    )
    how.add_argument(
        "--max-running",
        type=number_up_to(1_000_000),
        metavar="N",
        help="run at most N runs at a time; the others wait until their deadlines",
    )
    how.add_argument(
        "--on-stop",
        choices=tuple(OnStop),
        default=OnStop.WAIT,
        help="what happens to active runs when krond stops; wait: krond waits for them (default), "
        "terminate: krond stops them, leave: they go on, and the next krond takes them over",
    )
    add_output_dir(how)
    how.add_argument(
        "--output-keep",
        type=number_up_to(1_000_000),
        default=_OUTPUTS.most,
        metavar="N",
        help=f"how many outputs of a job are kept there; default: {_OUTPUTS.most}",
    )
    how.add_argument(
        "--output-age",
        type=whole_seconds,
        default=_OUTPUTS.age_s,
        metavar="DURATION",
        help="how long an output is kept there; default: 720h, which is 30 days",
    )
    how.add_argument("--pid-file", type=path, metavar="PATH", help="write and lock a pid file")
    for name, meaning in (("nofile", "open files"), ("nproc", "processes of a user")):
        how.add_argument(
            f"--limit-{name}",
            type=number_up_to(999_999_999),
            metavar="N",
            help=f"the limit on {meaning} for krond and its runs; default: unchanged",
        )
    logs = parser.add_argument_group("logs")
    logs.add_argument(
        "--log-file",
        type=path,
        metavar="PATH",
        help="the log file; default: standard error in the foreground, else "
        f"{LOG_NAME} in the state directory",
    )
    add_log_options(logs)


def run(arguments: Namespace, terminal: Terminal) -> int:
    from kron.krond.background import Background, Foreground

    handover = Handover.take(os.environ)
    # Opens those of 0, 1 and 2 that are closed. Before anything imports ctypes: its libffi may keep
    # its own file open, and every run would get that as its standard error.
    line: Background | Foreground = Foreground()

    from kron.krond.service import serve
    from kron.krond.state.directory import Directory

    settings = _settings(arguments)
    if arguments.check_upgrade is not None:
        return _try_out(settings, arguments.check_upgrade, terminal)
    if handover is not None:
        if settings.output_file:
            os.chdir("/")
        return serve(settings, line, handover)
    if arguments.output_dir or settings.outputs.is_default:
        _check_output_dir(settings.outputs.directory, arguments, terminal)
    if settings.output_file:
        try:
            Directory.make(settings.state_dir).close()
            line = Background.start(settings.output_file)
        except KronError as error:  # nothing has run, so it is an error of the directory
            raise KronError(Code.STATE, error.message, error.fix) from None
    return serve(settings, line)


def _try_out(settings: KrondSettings, what: str, terminal: Terminal) -> int:
    """Say whether this program could go on. What is on standard output may be logged."""
    from kron.jobs.configuration import ConfigurationError
    from kron.krond.upgrade.trial import try_out

    try:
        terminal.print(try_out(settings, what).packed())
    except ConfigurationError as error:
        terminal.print(error.for_logs)
        raise
    return 0


def _check_output_dir(path: str, arguments: Namespace, terminal: Terminal) -> None:
    """Refuse a directory that cannot be used, if it was asked for. The default one is not vital."""
    from kron.krond.output.directory import check_usable

    try:
        check_usable(path)
    except OSError as error:
        message = f"no outputs can be kept in {visible(path)}: {error.strerror}"
        unusable = KronError(Code.FILE_UNWRITABLE, message, "name another one with --output-dir")
        if arguments.output_dir:
            raise unusable from None
        terminal.error(f"krond: warning: {unusable}")


def _here() -> str:
    with suppress(FileNotFoundError):
        return os.getcwd()  # noqa: PTH109
    return ""


def _settings(arguments: Namespace) -> KrondSettings:
    from kron.jobs.identity import find_node
    from kron.jobs.source import own_access

    state_dir = state_dir_of(arguments)
    is_background = not (arguments.foreground or arguments.once)
    output_dir = output_dir_of(arguments)
    check_apart(output_dir, state_dir)
    if not arguments.output_age:
        message = "--output-age 0s would keep no output"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="use stdout=discard in the jobs")
    log_file = arguments.log_file or (
        os.path.join(state_dir, LOG_NAME) if is_background else ""  # noqa: PTH118
    )
    sources = tuple(map(JobSource, arguments.source)) or (JobSource.KRONTAB,)
    if arguments.config and JobSource.KRONTAB not in sources:
        message = "--config names krontab files, but --source cron does not read any"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="add --source krontab to run both")
    limits = {"NOFILE": arguments.limit_nofile, "NPROC": arguments.limit_nproc}
    return KrondSettings(
        state_dir=state_dir,
        access=own_access(insecure=arguments.allow_insecure_config),
        directory=_here(),
        config=tuple(map(os.path.abspath, arguments.config)),
        sources=sources,
        node=find_node(arguments.node_id),
        slack_s=arguments.trigger_slack,
        clock_hold_s=arguments.clock_hold,
        catch_up_spread_s=arguments.catch_up_spread,
        most_running=arguments.max_running or UNLIMITED_RUNS,
        on_stop=OnStop(arguments.on_stop),
        is_once=arguments.once,
        outputs=OutputSettings(
            output_dir,
            arguments.output_keep,
            arguments.output_age,
            is_default=is_background,
            has_sendmail=bool(sendmail()),
        ),
        log_file=log_file and os.path.abspath(log_file),  # noqa: PTH100
        output_file=os.path.join(state_dir, OUTPUT_NAME) if is_background else "",  # noqa: PTH118
        log_format=Format(arguments.log_format),
        log_level=Level(arguments.log_level),
        explain=arguments.explain,
        pid_file=(arguments.pid_file and os.path.abspath(arguments.pid_file)) or "",  # noqa: PTH100
        limits=tuple((name, value) for name, value in limits.items() if value is not None),
    )
