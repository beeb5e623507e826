"""`kronctl suspend`: stop KronJobs from starting runs. `resume` is the same with another value.

Both set a field, unless the schedule text sets it already.
"""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, UsageError, add_format
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.kube.api_object import Object, member
from kron.kube.client.errors import CONFLICT, ApiError, is_gone
from kron.kube.client.resources import KRONJOBS
from kron.kube.kronctl.cluster import add_cluster, plain, reach
from kron.kube.kronctl.lookup import AbsentError, all_within, get
from kron.kube.kronctl.name import Name, name_of
from kron.kube.kronctl.program import FAILED, INVALID, OK
from kron.kube.resource.kronjob import InvalidSpec, read_kronjob, read_metadata
from kron.kube.resource.schema.rule import is_match
from kron.kube.resource.schema.rules import says_policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.client.client import Client

DESCRIPTION = """\
Suspend KronJobs: they start no runs until `kronctl resume`. Active Jobs continue. This sets
spec.policy.suspend; if the schedule text sets suspend, edit the text instead. Applying a manifest
without that field does not resume them. If the manifest has it, edit it there."""
EXAMPLES = (
    ("kronctl suspend prod/backup", "one KronJob"),
    ("kronctl suspend -n prod backup report", "two of one namespace"),
    ("kronctl suspend -n prod -l team=data", "those with a label"),
    ("kronctl suspend -n prod --all", "all of a namespace"),
)
_DONE = {
    (True, True): "suspended; active Jobs continue",
    (True, False): "already suspended",
    (False, True): "resumed",
    (False, False): "not suspended; nothing was changed",
}
"""What is printed, by whether it is suspended now and whether that was changed."""
_TRIES = 5


def add_arguments(parser: Parser) -> None:
    parser.intermixed = "names"
    parser.add_argument(
        "names", metavar="JOB", nargs="*", help="a KronJob: NAME, NAMESPACE/NAME or kj/NAME"
    )
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="those with these labels instead"
    )
    parser.add_argument("--all", action="store_true", help="all of the namespace instead")
    add_format(parser)
    add_cluster(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    return change_all(arguments, terminal, schema="kronctl.suspend/1", suspended=True)


def change_all(arguments: Namespace, terminal: Terminal, *, schema: str, suspended: bool) -> int:
    names = _wanted(arguments)

    async def change(client: Client, default: str) -> int:
        changes: list[Object] = []
        codes = [OK]
        for name in names or await _all(client, default, arguments.selector):
            named = Name(name.namespace or default, name.name)
            changed, code = await _change(client, named, suspended=suspended)
            changes.append(changed)
            codes.append(code)
            if arguments.format == "text":
                _print(changes[-1], terminal)
        if arguments.format == "json":
            terminal.print_json({"schema": schema, "kronjobs": changes})
        elif not changes:
            terminal.error(f"no KronJobs were found in the namespace {default}")
        return max(codes)

    return reach(arguments, change)


def _wanted(arguments: Namespace) -> list[Name]:
    """The KronJobs that are named; none if -l or --all says which. It must be one of the three."""
    given = {
        "names": bool(arguments.names),
        "-l": bool(arguments.selector),
        "--all": arguments.all,
    }
    ways = [way for way, is_given in given.items() if is_given]
    if not ways:
        raise UsageError(
            Code.JOB_UNKNOWN, "no KronJob is named", fix="name some, or give -l or --all"
        )
    if len(ways) > 1:
        message = f"{' and '.join(ways)} cannot be used together"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="give one of them")
    return list(map(name_of, arguments.names))


async def _all(client: Client, namespace: str, selector: str) -> list[Name]:
    found = await all_within(client, KRONJOBS, namespace, selector)
    return [Name(namespace, each["metadata"]["name"]) for each in found]


async def _change(client: Client, name: Name, *, suspended: bool) -> tuple[Object, int]:
    """What was changed, or why nothing was, and the exit code for that."""
    change: Object = {
        "namespace": name.namespace,
        "name": name.name,
        "suspended": suspended,
        "changed": False,
        "error": "",
    }
    try:
        change["changed"] = await _patch(client, name, suspended=suspended)
    except AbsentError as error:
        return change | {"suspended": None, "error": error.brief}, INVALID
    except ApiError as error:
        if is_gone(error):  # deleted since it was read
            return change | {"suspended": None, "error": "this KronJob does not exist"}, INVALID
        return change | {"suspended": None, "error": str(plain(error))}, FAILED
    except KronError as error:
        return change | {"suspended": not suspended, "error": str(error)}, INVALID
    return change, OK


async def _patch(client: Client, name: Name, *, suspended: bool) -> bool:
    """Change it, unless it is so already: whether it was changed."""
    for left in reversed(range(_TRIES)):
        content = await get(client, KRONJOBS, name.namespace, name.name)
        body = patch_for(content, suspended=suspended)
        if body is None:
            return False
        try:
            await client.patch(KRONJOBS, name.namespace, name.name, body)
        except ApiError as error:
            if error.status != CONFLICT or not left:  # its status changes with every run
                raise
        else:
            return True
    raise AssertionError("the last try returns or raises")


def _print(change: Object, terminal: Terminal) -> None:
    identity = f"{change['namespace']}/{change['name']}"
    if change["error"]:
        terminal.error(f"{identity}: {change['error']}")
    else:
        terminal.print(f"{identity}: {_DONE[change['suspended'], change['changed']]}")


def patch_for(content: Object, *, suspended: bool) -> Object | None:
    """The merge patch that suspends or resumes it; None if nothing has to change.

    To resume is to remove the field. If it said false, kronctl would own it, and the next
    server-side apply of a manifest with another value would end in a conflict.
    """
    spec = member(content, "spec")
    try:
        policy = {**member(spec, "policy"), "suspend": None}  # as good as absent
        unset = {**content, "spec": {**spec, "policy": policy}}
        said = read_kronjob(unset).schedule.policy.suspend
    except InvalidSpec:
        said = False  # it starts no runs, but may be suspended nevertheless
    is_suspended = said or member(spec, "policy").get("suspend") is True
    if is_suspended == suspended:
        return None
    if said or (suspended and is_match(says_policy("suspend"), spec.get("schedule"))):
        words = f"@policy(suspend={str(said).lower()})"
        message = f"its schedule text sets {words}, and a field cannot override that"
        raise KronError(Code.MODIFIER_REPEATED, message, "edit spec.schedule: remove it there")
    if not suspended and member(spec, "policy").keys() == {"suspend"}:
        # Without the policy that `suspend` made. The version: another field may be new in it.
        version = read_metadata(content).resource_version
        return {"metadata": {"resourceVersion": version}, "spec": {"policy": None}}
    return {"spec": {"policy": {"suspend": True if suspended else None}}}
