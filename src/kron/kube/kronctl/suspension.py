"""Suspending and resuming: one field of a KronJob, unless its schedule text says it already."""

from __future__ import annotations

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.kube.kronctl.cluster import NOT_FOUND, Name, add_cluster, is_unknown, name_of, reach
from kron.kube.resource.kronjob import read_kronjob
from kron.kube.resource.problem import InvalidSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from kron.kube.client.client import Client


def add_names(parser: Parser) -> None:
    """Several names, the format, and the cluster."""
    parser.add_argument(
        "names", metavar="JOB", nargs="+", help="a KronJob's name, or NAMESPACE/NAME"
    )
    add_format(parser)
    add_cluster(parser)


def change_all(arguments: Namespace, terminal: Terminal, *, suspended: bool) -> int:
    """Suspend or resume every KronJob that is named; say what was done to each."""
    names = list(map(name_of, arguments.names))

    async def change(client: Client, default: str) -> int:
        changes: list[dict[str, Any]] = []
        for name in names:
            named = Name(name.namespace or default, name.name)
            changes.append(await _change(client, named, suspended=suspended))
            if arguments.format == "text":
                _tell(changes[-1], terminal, suspended=suspended)
        if arguments.format == "json":
            suspend, resume = {"schema": "kronctl.suspend/1"}, {"schema": "kronctl.resume/1"}
            terminal.print_json({**(suspend if suspended else resume), "kronjobs": changes})
        return int(any(each["error"] for each in changes))

    return reach(arguments, change)


async def _change(client: Client, name: Name, *, suspended: bool) -> dict[str, Any]:
    """What was done to it, or why nothing was."""
    from kron.kube.client.errors import ApiError
    from kron.kube.client.resources import KRONJOBS

    done = {
        "namespace": name.namespace,
        "name": name.name,
        "suspended": None,
        "changed": False,
        "error": "",
    }
    try:
        content = await client.get(KRONJOBS, name.namespace, name.name)
        body = patch_for(content, suspended=suspended)
        if body is not None:
            await client.patch(KRONJOBS, name.namespace, name.name, body)
    except ApiError as error:
        if error.status != NOT_FOUND or is_unknown(error):
            raise
        return {**done, "error": "there is no such KronJob"}
    except KronError as error:
        return {**done, "suspended": not suspended, "error": str(error)}
    return {**done, "suspended": suspended, "changed": body is not None}


def _tell(change: dict[str, Any], terminal: Terminal, *, suspended: bool) -> None:
    identity = f"{change['namespace']}/{change['name']}"
    if change["error"]:
        terminal.error(f"{identity}: {change['error']}")
    else:
        terminal.print(f"{identity}: {_said(changed=change['changed'], suspended=suspended)}")


def patch_for(content: dict[str, Any], *, suspended: bool) -> dict[str, Any] | None:
    """The merge patch that suspends or resumes it; None if it is so already."""
    field = _policy(content).get("suspend")
    try:
        said = read_kronjob(_with_suspend(content, None)).schedule.policy.suspend
    except InvalidSpec:
        said = False  # it runs nothing, and may be suspended all the same
    if said and not suspended:
        raise _in_text("@policy(suspend=true)", "take that out of the text")
    if (said if field is None else field) == suspended:
        return None
    if suspended and _is_contradicted(content):
        raise _in_text("suspend=false", "write suspend=true there, or take it out")
    return {"spec": {"policy": {"suspend": True if suspended else None}}}


def _is_contradicted(content: dict[str, Any]) -> bool:
    """Whether the field cannot be true, because the schedule text says otherwise."""
    try:
        read_kronjob(_with_suspend(content, value=True))
    except InvalidSpec as error:
        return any("suspend" in problem.message for problem in error.problems)
    return False


def _in_text(words: str, fix: str) -> KronError:
    message = f"its schedule text says {words} itself, and a field cannot say otherwise"
    return KronError(Code.MODIFIER_REPEATED, message, f"edit spec.schedule: {fix}")


def _policy(content: dict[str, Any]) -> dict[str, Any]:
    spec = content.get("spec")
    policy = spec.get("policy") if isinstance(spec, dict) else None
    return policy if isinstance(policy, dict) else {}


def _with_suspend(content: dict[str, Any], value: bool | None) -> dict[str, Any]:
    policy = {key: each for key, each in _policy(content).items() if key != "suspend"}
    if value is not None:
        policy["suspend"] = value
    said = content.get("spec")
    spec = {key: each for key, each in said.items() if key != "policy"} if said else {}
    return {**content, "spec": {**spec, **({"policy": policy} if policy else {})}}


def _said(*, changed: bool, suspended: bool) -> str:
    if suspended:
        return "suspended; Jobs that are active go on" if changed else "is suspended already"
    return "resumed" if changed else "is not suspended, so nothing was changed"
