"""The KronJobs that a command line asks for: of files (`-f`), or of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from kron.console.parser import path
from kron.console.subject import Subject
from kron.console.terminal import Terminal
from kron.console.usage import UsageError
from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.jobs.configuration import ConfigurationError
from kron.jobs.finding import Finding
from kron.kube.kronctl.cluster import (
    DEFAULT_NAMESPACE,
    Name,
    add_cluster,
    check_source,
    name_of,
    reach,
)
from kron.kube.kronctl.manifest import Manifest, read_manifests
from kron.kube.resource.definition import GROUP
from kron.kube.resource.kronjob import KronJob, find_problems, read_kronjob
from kron.kube.resource.problem import FieldProblem, InvalidSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace, _ActionsContainer
    from typing import Any

    from kron.kube.client.client import Client

KRONJOB = "KronJob"


class Found(Frozen):
    """A KronJob and where it was found."""

    kronjob: KronJob
    content: dict[str, Any]
    """The whole object."""
    path: str = ""
    line: int = 0
    is_placed: bool = True
    """Whether its namespace was said, by itself or by `-n`."""

    @property
    def subject(self) -> Subject:
        """What questions about its times are about."""
        kronjob = self.kronjob
        return Subject(
            kronjob.name,
            kronjob.identity,
            kronjob.schedule_text,
            kronjob.schedule,
            self.path,
            self.line,
            f"namespace {kronjob.namespace}",
        )


def add_files(parser: _ActionsContainer) -> None:
    """`-f`, repeatable."""
    parser.add_argument(
        "-f",
        "--file",
        type=path,
        action="append",
        default=[],
        metavar="PATH",
        help="a manifest, a directory of *.yaml, *.yml and *.json, or - for standard input, "
        "instead of the cluster; repeatable",
    )


def add_source(parser: _ActionsContainer, *, all_namespaces: bool = False) -> None:
    """Files or a cluster."""
    add_files(parser)
    add_cluster(parser, all_namespaces=all_namespaces)


def is_kronjob(manifest: Manifest) -> bool:
    """Whether it is a KronJob, or was plainly meant to be one: of a misspelt kind or group."""
    return _is_spelled(manifest) or manifest.is_meant_as(KRONJOB, GROUP)


def _is_spelled(manifest: Manifest) -> bool:
    """Whether its kind and group are right; it may lack its apiVersion."""
    version = manifest.api_version
    return manifest.kind == KRONJOB and (not version or version.startswith(f"{GROUP}/"))


def placed(content: dict[str, Any], namespace: str | None) -> dict[str, Any]:
    """The object in the namespace that applies to it."""
    metadata = content.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return content
    metadata = {**metadata, "namespace": namespace or DEFAULT_NAMESPACE}
    return {**content, "metadata": metadata}


def problem_finding(manifest: Manifest, problem: FieldProblem) -> Finding:
    """A problem of a field at its place in the file."""
    where = problem.path or "this object"
    place = manifest.place_of(problem.path, at_key=problem.code is Code.FIELD_UNKNOWN)
    place = manifest.column_of(problem.path, place, problem.message)
    return manifest.text.finding(place, problem.code, f"{where}: {problem.message}", problem.fix)


def read_files(paths: Sequence[str], namespace: str | None) -> list[Found]:
    """The KronJobs of manifests; a `ConfigurationError` with everything that is wrong."""
    manifests = read_manifests(paths)
    findings = list(manifests.findings)
    found: list[Found] = []
    for manifest in filter(is_kronjob, manifests.objects):
        content = placed(manifest.content, namespace)
        try:
            if not _is_spelled(manifest):
                raise InvalidSpec(find_problems(content))
            kronjob = read_kronjob(content)
        except InvalidSpec as error:
            findings += [problem_finding(manifest, problem) for problem in error.problems]
        else:
            is_placed = bool(manifest.namespace or namespace)
            found.append(Found(kronjob, content, manifest.text.path, manifest.line, is_placed))
    if findings:
        raise ConfigurationError(findings, 0)
    return found


def note_namespace(found: Sequence[Found], terminal: Terminal) -> None:
    """Say so where a namespace was not said: chosen times follow from it."""
    places = [f"{each.path}:{each.line}" for each in found if not each.is_placed]
    if places:
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        terminal.error(
            f"note: {places[0]}{more} names no namespace, so it is taken as {DEFAULT_NAMESPACE}; "
            "-n names another, and chosen times follow from it"
        )


def find_subject(arguments: Namespace, terminal: Terminal) -> Subject:
    """The KronJob that the command line names, of a file or of the cluster."""
    check_source(arguments)
    if not arguments.file:
        if arguments.name is None:
            fix = "kronctl list shows all KronJobs, and -f names a file"
            raise UsageError(Code.JOB_UNKNOWN, "no KronJob is named", fix=fix)
        return _from_cluster(arguments, name_of(arguments.name)).subject
    known = read_files(arguments.file, arguments.namespace)
    if arguments.name is not None:
        known = [pick(known, name_of(arguments.name))]
    if len(known) == 1:
        note_namespace(known, terminal)
        return known[0].subject
    names = ", ".join(each.kronjob.identity for each in known[:5])
    message = f"there are {len(known)} KronJobs" if known else "there is no KronJob in the files"
    raise KronError(Code.JOB_UNKNOWN, message, fix=f"name one of {names}" if known else "")


def pick(known: Sequence[Found], name: Name) -> Found:
    """The one KronJob of this name."""
    found = [
        each
        for each in known
        if each.kronjob.name == name.name and name.namespace in ("", each.kronjob.namespace)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(f"{each.kronjob.identity} ({each.path}:{each.line})" for each in found)
        message = f"{len(found)} KronJobs are called {quoted(name.text)}: {places}"
        raise KronError(Code.JOB_UNKNOWN, message, fix="name the namespace, or another file")
    near = did_you_mean(name.name, (each.kronjob.name for each in known))
    raise KronError(Code.JOB_UNKNOWN, f"there is no KronJob {quoted(name.text)}", fix=near)


def _from_cluster(arguments: Namespace, name: Name) -> Found:
    from kron.kube.client.resources import KRONJOBS

    async def ask(client: Client, namespace: str) -> dict[str, Any]:
        return await client.get(KRONJOBS, name.namespace or namespace, name.name)

    content = reach(arguments, ask)
    return Found(read_kronjob(content), content)
