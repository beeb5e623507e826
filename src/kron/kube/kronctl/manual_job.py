"""The Job of a manual run: its name, and what the command line changes in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kron.console.parser import UsageError
from kron.core.errors import Code, quoted
from kron.kube.api_object import Object, objects
from kron.kube.resource.kronjob import KronJob
from kron.kube.resource.run import manual_manifest

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels, so that they form no words, and without letters that are easily misread."""
_MOST_LETTERS = 6
_NAME_RULE = "a name has at most 63 lower case letters, digits and - between them"


def new_name(name: str) -> str:
    """`name`, if it may be the name of a Job; a UsageError otherwise."""
    plain = name.replace("-", "")
    is_plain = plain.isascii() and plain.isalnum() and plain == plain.lower()
    if is_plain and len(name) <= 63 and name[0] != "-" and name[-1] != "-":
        return name
    raise UsageError(Code.FIELD_FORM, f"--name {quoted(name)}: {_NAME_RULE}")


def variables(words: Sequence[str]) -> dict[str, str]:
    """The variables of --env, NAME=VALUE each; a UsageError if one is anything else."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            message = f"--env {quoted(word)} is not a variable"
            raise UsageError(Code.FIELD_FORM, message, fix="write NAME=VALUE")
        if name in found:
            message = f"--env sets {quoted(name)} twice"
            raise UsageError(Code.FIELD_REPEATED, message, fix="leave one out")
        found[name] = value
    return found


def manual_job(kronjob: KronJob, name: str | None, environment: Mapping[str, str]) -> Object:
    """The Job, with these variables; with a new random name if it has to have none."""
    import secrets

    letters = "".join(secrets.choice(_LETTERS) for _ in range(_MOST_LETTERS))
    manifest = manual_manifest(kronjob, f"manual-{letters}")
    if name is not None:
        manifest["metadata"]["name"] = name
    pod = manifest["spec"]["template"]["spec"]
    for kind in ("initContainers", "containers") if environment else ():
        for container in objects(pod, kind):
            container["env"] = _with_variables(objects(container, "env"), environment)
    return manifest


def _with_variables(known: Sequence[Object], environment: Mapping[str, str]) -> list[Object]:
    """The list with these variables: each in the place of one of the same name, or at the end."""
    changed = [
        {"name": each["name"], "value": environment[each["name"]]}
        if each.get("name") in environment
        else each
        for each in known
    ]
    names = {each.get("name") for each in known}
    added = [{"name": n, "value": v} for n, v in environment.items() if n not in names]
    return changed + added
