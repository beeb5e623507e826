"""`kronctl doctor`: what is wrong with Kron in a cluster, and what to do next."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from kron.console.parser import Parser, add_format, now
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.core.errors import visible
from kron.core.instant import to_seconds, to_text
from kron.kube.api_object import Object
from kron.kube.kronctl.cluster import add_cluster, check_source, reach
from kron.kube.namespace import namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.client.client import Client
    from kron.kube.kronctl.doctor.check import Check

DESCRIPTION = """\
Examine Kron in a cluster: whether the definition of KronJobs is the one of this kronctl, what you
and the operator may do, who leads and when it was last heard of, whether the clocks agree, and
which KronJobs are not ready, were not seen by an operator, are overdue, or failed in their last
run. Each problem says what to do next.

The exit code is 0 if all is well, 1 if there are problems, and 2 if there are none, but not
everything could be checked, for want of rights or because the cluster cannot be reached."""
EXAMPLES = (
    ("kronctl doctor", "the KronJobs of your namespace, and the operator"),
    ("kronctl doctor -A", "those of all namespaces"),
    ("kronctl doctor -n prod --lease-namespace team-a", "an operator that runs in team-a"),
    ("kronctl doctor -A --format json", "for a monitor"),
)
FAILURE = 2
_STYLES = {"ok": "green", "note": "cyan", "problem": "red", "unknown": "yellow"}
_SHOWN = 10
"""How many KronJobs with the same problem are shown to people."""


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only KronJobs with these labels"
    )
    parser.add_argument(
        "--lease-namespace",
        type=namespace,
        metavar="NS",
        help="the namespace of the operator and its Lease; default: wherever one is found",
    )
    parser.add_argument(
        "--lease-name",
        metavar="NAME",
        help="the name of its Lease; default: those that operators have labelled",
    )
    parser.add_argument(
        "--service-account",
        metavar="NAME",
        help="the service account of the operator; default: that of the Pod that leads",
    )
    add_format(parser)
    add_cluster(parser, all_namespaces=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    check_source(arguments)
    from kron.kube.client.server_clock import ServerClock
    from kron.kube.kronctl.doctor.check import Verdict
    from kron.waking.clock import Clock

    clock = Clock()
    heard = ServerClock(clock)

    async def ask(client: Client, default: str) -> list[Check]:
        from kron.kube.kronctl.doctor.examination import Scope, examine

        within = None if arguments.all_namespaces else default
        lease = arguments.lease_namespace, arguments.lease_name
        scope = Scope(within, arguments.selector, *lease, arguments.service_account)
        return await examine(client, scope, clock, heard)

    checks = reach(arguments, ask, observe_date=heard.heard)
    verdicts = {each.verdict for each in checks}
    if arguments.format == "json":
        terminal.print_json(_document(checks))
    else:
        terminal.print(*_lines(checks, terminal))
    if Verdict.PROBLEM in verdicts:
        return 1
    return 2 if Verdict.UNKNOWN in verdicts else 0


def _lines(checks: list[Check], terminal: Terminal) -> Iterator[str]:
    counts: dict[str, int] = {}
    for check in checks:
        counts[check.verdict] = counts.get(check.verdict, 0) + 1
        alike = f"{check.subject} {check.verdict}"
        counts[alike] = counts.get(alike, 0) + 1
        if check.kronjob and counts[alike] > _SHOWN:
            continue
        head = terminal.styled(f"{check.verdict:8}", "bold", _STYLES[check.verdict])
        about = f"{check.kronjob}: " if check.kronjob else ""
        yield f"{head} {check.subject}: {visible(f'{about}{check.message}')}"
        if check.fix:
            yield f"{'':8} {terminal.styled('next:', 'green')} {visible(check.fix)}"
    for alike, count in counts.items():
        if alike.startswith("kronjob-") and count > _SHOWN:
            yield f"... and {many(count - _SHOWN, 'more KronJob')}: {alike}; --format json has all"
    problems, unknown = counts.get("problem", 0), counts.get("unknown", 0)
    summary = f"{many(problems, 'problem')}, {unknown} not checked"
    yield terminal.styled(summary, "red" if problems else "yellow" if unknown else "green")


def _document(checks: list[Check]) -> Object:
    import kron
    from kron.kube.kronctl.doctor.check import is_healthy

    return {
        "schema": "kronctl.doctor/1",
        "at": to_text(to_seconds(now())),
        "version": kron.__version__,
        "healthy": is_healthy(checks),
        "checks": [
            {
                "subject": each.subject,
                "verdict": each.verdict,
                "kronjob": each.kronjob or None,
                "message": each.message,
                "fix": each.fix,
            }
            for each in checks
        ],
    }
