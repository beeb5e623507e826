"""The KronJobs that a command line names: from files (`-f`), or from the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from kron.answers.subject import Subject
from kron.console.parser import UsageError, path
from kron.console.report import finding_lines
from kron.console.terminal import Terminal
from kron.core.errors import SHOWN_PROBLEMS, Code, KronError, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.jobs.configuration import ConfigurationError
from kron.jobs.finding import Finding, Severity
from kron.kube.api_object import Object, member
from kron.kube.client.resources import KRONJOBS
from kron.kube.kronctl.cluster import DEFAULT_NAMESPACE, add_cluster, check_source
from kron.kube.kronctl.lookup import get_all
from kron.kube.kronctl.manifest import Manifest, read_manifests
from kron.kube.kronctl.name import Name, name_of
from kron.kube.resource.kronjob import KIND, KronJob, find_problems, read_kronjob, read_stored
from kron.kube.resource.schema.definition import GROUP
from kron.kube.resource.schema.job_template import check_template
from kron.kube.resource.schema.validate import FieldProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace, _ActionsContainer


class FoundKronJob(Frozen):
    """A KronJob of a file."""

    kronjob: KronJob
    content: Object
    path: str
    line: int
    is_placed: bool
    """Whether the manifest or `-n` names its namespace."""
    warnings: tuple[Finding, ...] = ()
    """What an API server would refuse in its template."""


def add_files(parser: _ActionsContainer) -> None:
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
    add_files(parser)
    add_cluster(parser, all_namespaces=all_namespaces)


def is_kronjob(manifest: Manifest) -> bool:
    """Whether it is a KronJob, or one with a misspelt kind or group; apiVersion may be missing."""
    version = manifest.api_version
    is_spelled = manifest.kind == KIND and (not version or version.startswith(f"{GROUP}/"))
    return is_spelled or manifest.is_meant_as(KIND, GROUP)


def placed(content: Object, namespace: str | None) -> Object:
    """The object with its namespace; `namespace` if it names none."""
    metadata = content.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return content
    metadata = {**metadata, "namespace": namespace or DEFAULT_NAMESPACE}
    return {**content, "metadata": metadata}


def problem_finding(manifest: Manifest, problem: FieldProblem) -> Finding:
    where = problem.path or "this object"
    place = manifest.place_of(problem.path, at_key=problem.code is Code.FIELD_UNKNOWN)
    place = manifest.column_of(problem.path, place, problem.message)
    return manifest.file.finding(problem.code, f"{where}: {problem.message}", *place, problem.fix)


def read_files(paths: Sequence[str], namespace: str | None) -> list[FoundKronJob]:
    """The KronJobs of manifests; a `ConfigurationError` with all errors if there are any."""
    manifests = read_manifests(paths)
    findings = list(manifests.findings)
    found: list[FoundKronJob] = []
    for manifest in filter(is_kronjob, manifests.objects):
        content = placed(manifest.content, namespace)
        problems = find_problems(content)
        findings += [problem_finding(manifest, problem) for problem in problems]
        if not problems:
            place = manifest.file.path, manifest.line
            is_placed = bool(manifest.namespace or namespace)
            kronjob, warnings = read_kronjob(content), tuple(_warnings(manifest))
            found.append(FoundKronJob(kronjob, content, *place, is_placed, warnings))
    if findings:
        raise ConfigurationError(findings, 0)
    return found


def _warnings(manifest: Manifest) -> Iterator[Finding]:
    """What is wrong with its template: no error here, as chosen times do not follow from it."""
    for problem in islice(check_template(member(manifest.content, "spec")), SHOWN_PROBLEMS):
        yield problem_finding(manifest, problem).replace(severity=Severity.WARNING)


def note_files(found: Sequence[FoundKronJob], terminal: Terminal) -> None:
    """Report what is wrong with templates, and which KronJobs name no namespace: their chosen
    times follow from it."""
    for warning in islice((each for one in found for each in one.warnings), SHOWN_PROBLEMS):
        terminal.error(*finding_lines(warning, terminal.styled_error))
    places = [f"{each.path}:{each.line}" for each in found if not each.is_placed]
    if places:
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        terminal.error(
            f"note: {places[0]}{more} names no namespace; {DEFAULT_NAMESPACE} is used, and chosen "
            "times follow from it (-n names another)"
        )


def find_subject(arguments: Namespace, terminal: Terminal) -> Subject:
    check_source(arguments)
    if not arguments.file:
        if arguments.name is None:
            fix = "kronctl list shows all KronJobs, and -f names a file"
            raise UsageError(Code.JOB_UNKNOWN, "no KronJob is named", fix=fix)
        [content] = get_all(arguments, KRONJOBS, [name_of(arguments.name)])
        return _subject(read_stored(content))
    known = read_files(arguments.file, arguments.namespace)
    if arguments.name is not None:
        known = [pick(known, name_of(arguments.name))]
    if len(known) == 1:
        note_files(known, terminal)
        return _subject(known[0].kronjob, known[0].path, known[0].line)
    names = ", ".join(each.kronjob.identity for each in known[:5])
    message = f"the files have {len(known)} KronJobs" if known else "the files have no KronJob"
    raise KronError(Code.JOB_UNKNOWN, message, fix=f"name one of {names}" if known else "")


def _subject(kronjob: KronJob, path: str = "", line: int = 0) -> Subject:
    origin = f"namespace {kronjob.namespace}"
    return Subject(
        kronjob.name, kronjob.identity, kronjob.schedule_text, kronjob.schedule, path, line, origin
    )


def pick(known: Sequence[FoundKronJob], name: Name) -> FoundKronJob:
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
    raise KronError(Code.JOB_UNKNOWN, f"the KronJob {quoted(name.text)} does not exist", fix=near)
