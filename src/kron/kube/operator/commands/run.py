"""`kron-operator run`: look after the KronJobs of a cluster."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace

from kron.console.parser import Parser, UsageError, add_log_options, whole_seconds
from kron.console.terminal import Terminal
from kron.core.errors import Code, quoted
from kron.kube.extra import check_extra
from kron.kube.namespace import namespace
from kron.kube.operator.settings import (
    DEFAULT_DEADLINE_S,
    DEFAULT_HTTP,
    DEFAULT_KRONJOB_METRICS,
    DEFAULT_LEASE_DURATION_S,
    DEFAULT_LEASE_NAME,
    DEFAULT_MAX_SKEW_S,
    DEFAULT_NETWORK_DELAY_S,
    DEFAULT_REPLACE_TIMEOUT_S,
    DEFAULT_WATCH_SILENCE_S,
    OperatorSettings,
)
from kron.logs.event import Level
from kron.logs.writer import Format
from kron.runtime import DEFAULT_SLACK_S

SHORTEST_LEASE_S = 3
LONGEST_LEASE_S = 60
MOST_KRONJOBS = 100_000

DESCRIPTION = """\
Look after KronJobs: make a Job for each of their periods at its chosen second, write down what
became of it, and delete old Jobs. In a cluster it is a Pod with a service account of its own;
beside one it uses a kubeconfig. Several may run: one leads, by a Lease, and the others take over
when it stops, dies or falls silent.

TERM and INT stop it; it gives its lease back. Jobs that are running are left alone."""
EXAMPLES = (
    ("kron-operator run", "all namespaces, with the credentials that are found"),
    ("kron-operator run --namespace team-a --namespace team-b", "these two only"),
    ("kron-operator run --kubeconfig ~/.kube/test --log-format json", "from outside, logs as JSON"),
)


def add_arguments(parser: Parser) -> None:
    where = parser.add_argument_group("which cluster, and what of it")
    where.add_argument(
        "--kubeconfig",
        metavar="PATH",
        help="default: KUBECONFIG, the Pod's service account, or ~/.kube/config",
    )
    where.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")
    where.add_argument(
        "--namespace",
        action="append",
        type=namespace,
        default=[],
        metavar="NAME",
        help="look after this namespace only; repeatable; default: all",
    )
    leading = parser.add_argument_group("who leads")
    leading.add_argument(
        "--lease-namespace",
        type=namespace,
        metavar="NAME",
        help="where the Lease is; default: the Pod's namespace, or that of the context",
    )
    leading.add_argument(
        "--lease-name",
        default=DEFAULT_LEASE_NAME,
        metavar="NAME",
        help=f"the name of the Lease; default: {DEFAULT_LEASE_NAME}",
    )
    leading.add_argument(
        "--lease-duration",
        type=_lease_duration,
        default=DEFAULT_LEASE_DURATION_S,
        metavar="DURATION",
        help="how long a leader may be silent before another takes over; it stops acting when two "
        f"thirds of that have passed; default: {DEFAULT_LEASE_DURATION_S}s",
    )
    leading.add_argument(
        "--identity",
        metavar="TEXT",
        help="which replica this is; no two processes may have the same at a time; default: the "
        "host's name with POD_UID or else something random. A process that is started again with "
        "the same identity takes its own lease at once",
    )
    leading.add_argument(
        "--peer-address",
        type=_peer,
        metavar="HOST:PORT",
        help="where the other replicas reach the port of --http, to see when this process dies and "
        "to take over at once; '' for nowhere; default: POD_IP with that port, nowhere without "
        "POD_IP",
    )
    leading.add_argument(
        "--max-clock-skew",
        type=whole_seconds,
        default=DEFAULT_MAX_SKEW_S,
        metavar="DURATION",
        help="a replica whose clock differs by more from the API server's does not lead; "
        f"default: {DEFAULT_MAX_SKEW_S}s, 0s for any difference",
    )
    how = parser.add_argument_group("how to run")
    how.add_argument(
        "--default-deadline",
        type=whole_seconds,
        default=DEFAULT_DEADLINE_S,
        metavar="DURATION",
        help="how late a Job of a KronJob may be made that names no deadline, as after an outage; "
        f"all replicas need the same; default: {DEFAULT_DEADLINE_S}s, so that a late run is missed",
    )
    how.add_argument(
        "--trigger-slack",
        type=whole_seconds,
        default=DEFAULT_SLACK_S,
        metavar="DURATION",
        help="how late a Job may be made when the operator was awake and something was busy; "
        f"default: {DEFAULT_SLACK_S}s, 0s for the bare rule",
    )
    how.add_argument(
        "--replace-timeout",
        type=whole_seconds,
        default=DEFAULT_REPLACE_TIMEOUT_S,
        metavar="DURATION",
        help="how long a Job that is replaced may take to go before the period is missed; "
        f"default: {DEFAULT_REPLACE_TIMEOUT_S}s",
    )
    how.add_argument(
        "--watch-silence",
        type=_silence,
        default=DEFAULT_WATCH_SILENCE_S,
        metavar="DURATION",
        help="how long a watch may be silent before it is restarted; an API server sends "
        f"something every minute, so longer than that; default: {DEFAULT_WATCH_SILENCE_S}s",
    )
    how.add_argument(
        "--network-delay",
        type=whole_seconds,
        default=DEFAULT_NETWORK_DELAY_S,
        metavar="DURATION",
        help="how long the network may hold back a request that got no answer; until then no Job "
        "is deleted that such a request could make again; "
        f"default: {DEFAULT_NETWORK_DELAY_S // 60}m",
    )
    how.add_argument(
        "--http",
        type=_address,
        default=DEFAULT_HTTP,
        metavar="HOST:PORT",
        help="where /healthz, /readyz and /metrics are served; '' for nowhere; "
        f"default: {DEFAULT_HTTP}",
    )
    how.add_argument(
        "--kronjob-metrics",
        type=_kronjobs,
        default=DEFAULT_KRONJOB_METRICS,
        metavar="N",
        help="how many KronJobs have metrics of their own, with their names; 0 for none; "
        f"default: {DEFAULT_KRONJOB_METRICS}",
    )
    add_log_options(parser.add_argument_group("logs"))


def run(arguments: Namespace, _: Terminal) -> int:
    check_extra()
    from kron.kube.client.access import find_access
    from kron.kube.operator.service import serve

    access = find_access(arguments.kubeconfig, arguments.context)
    settings = OperatorSettings(
        identity=arguments.identity or _identity(),
        lease_namespace=arguments.lease_namespace or access.namespace,
        lease_name=arguments.lease_name,
        lease_duration_s=arguments.lease_duration,
        namespaces=tuple(dict.fromkeys(arguments.namespace)),
        default_deadline_s=arguments.default_deadline,
        slack_s=arguments.trigger_slack,
        replace_timeout_s=arguments.replace_timeout,
        watch_silence_s=arguments.watch_silence,
        network_delay_s=arguments.network_delay,
        max_skew_s=arguments.max_clock_skew,
        peer=_peer_address(arguments.peer_address, arguments.http),
        http=arguments.http,
        kronjob_metrics=arguments.kronjob_metrics,
        log_format=Format(arguments.log_format),
        log_level=Level(arguments.log_level),
        explain=arguments.explain,
    )
    return serve(settings, access)


def _identity() -> str:
    """Unique: two replicas of one identity would both take themselves for the leader.

    The processes of a Pod come one after the other, so they may have the same.
    """
    import os
    import socket

    return f"{socket.gethostname()}_{os.environ.get('POD_UID') or os.urandom(4).hex()}"


def _peer_address(chosen: str | None, http: tuple[str, int] | None) -> str:
    import os

    if chosen is not None:
        if chosen and http is None:
            message = "--peer-address needs a port to listen on, and --http is ''"
            raise UsageError(Code.VALUE_UNKNOWN, message, fix="give --http HOST:PORT as well")
        return chosen
    host = os.environ.get("POD_IP", "")
    is_six = ":" in host
    if not host or http is None or http[0] not in (host, "::" if is_six else "0.0.0.0"):  # noqa: S104
        return ""  # nobody listens there
    return f"[{host}]:{http[1]}" if is_six else f"{host}:{http[1]}"


def _peer(text: str) -> str:
    _address(text)
    return text


def _lease_duration(text: str) -> int:
    seconds = whole_seconds(text)
    if not SHORTEST_LEASE_S <= seconds <= LONGEST_LEASE_S:
        least, most = f"{SHORTEST_LEASE_S}s", f"{LONGEST_LEASE_S}s"
        raise ArgumentTypeError(f"{quoted(text)} is not between {least} and {most}")
    return seconds


def _silence(text: str) -> int:
    seconds = whole_seconds(text)
    if not seconds:
        raise ArgumentTypeError(f"{quoted(text)} is not long enough, 1s is the least")
    return seconds


def _kronjobs(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= MOST_KRONJOBS:
        return int(text)
    raise ArgumentTypeError(f"{quoted(text)} is not a number from 0 to {MOST_KRONJOBS:,}")


def _address(text: str) -> tuple[str, int] | None:
    if not text:
        return None
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if colon and host and port.isascii() and port.isdigit() and int(port) < 1 << 16:
        return host, int(port)
    raise ArgumentTypeError(f"{quoted(text)} is not HOST:PORT, such as {DEFAULT_HTTP}")
