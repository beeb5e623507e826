"""`kronctl validate`: check manifests without a cluster, and report all errors."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from kron.console.parser import Parser, UsageError, add_format
from kron.console.report import finding_document, finding_lines, many
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError, quoted
from kron.jobs.finding import Finding, Severity
from kron.kube.api_object import Object, member
from kron.kube.kronctl.cluster import DEFAULT_NAMESPACE, add_namespace
from kron.kube.kronctl.kronjobs import add_files, is_kronjob, problem_finding
from kron.kube.kronctl.manifest import Manifest, read_manifests
from kron.kube.resource.kronjob import find_all_problems
from kron.kube.resource.schema.reserved import reserved_keys

DESCRIPTION = """\
Check the KronJobs of manifests without a cluster, and report all errors with file, line and column:
what the definition of KronJobs refuses, what kron-operator would call invalid, and in Job templates
fields that Kubernetes 1.35 does not know, and common mistakes. Other kinds of object are skipped,
except for KronJobs with a misspelt kind or group.

Not every rule for a Job is checked: requests above limits, probes, volumes with several sources
and others are the API server's, which kron-operator asks with a dry run of the Job. Nor is what
only a cluster knows: its quotas and admission policies, whether an image or a Secret exists.
`kubectl apply --dry-run=server` asks the API server about the KronJob.

A warning is no error: labels and annotations of the template that begin with kron.io/, which
kron-operator leaves out.

Exit code 1 means errors; 2, that a file cannot be read or that no object was found at all."""
EXAMPLES = (
    ("kronctl validate -f backup.yaml", "one file"),
    ("kronctl validate -f manifests/ -v", "all files of a directory; list skipped objects"),
    (
        "helm template . | kronctl validate -f - --format json",
        "the output of a chart, for a script",
    ),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("-v", "--verbose", action="store_true", help="list skipped objects")
    add_namespace(parser, "for objects that name no namespace; default: default")
    add_format(parser)
    add_files(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    if not arguments.file:
        raise UsageError(Code.FILE_MISSING, "no file is named", fix="give -f FILE, DIRECTORY or -")
    manifests = read_manifests(arguments.file)
    kronjobs = [each for each in manifests.objects if is_kronjob(each)]
    others = [each for each in manifests.objects if not is_kronjob(each)]
    found = _find_errors(kronjobs, arguments.namespace or DEFAULT_NAMESPACE)
    findings = [*manifests.findings, *found]
    if not manifests.objects and not manifests.findings:
        # Most likely the program before the pipe has failed, and "0 errors" would hide that.
        nothing = KronError(Code.FILE_MISSING, "no object was found", fix="check what wrote it")
        findings += [Finding.of_error(nothing, path) for path in manifests.paths]
    errors, warnings = len(findings), list(_find_warnings(kronjobs))
    is_unread = any(not finding.line for finding in findings)  # a file as a whole
    findings += warnings
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.start))
    if arguments.format == "json":
        document = {
            "schema": "kronctl.validate/1",
            "files": list(manifests.paths),
            "kronjobs": len(kronjobs),
            "errors": errors,
            "warnings": len(warnings),
            "findings": list(map(finding_document, findings)),
            "passed_over": list(map(_skipped, others)),
        }
        terminal.print_json(document)
    else:
        for finding in findings:
            terminal.print(*finding_lines(finding, terminal.styled))
        for other in others if arguments.verbose else ():
            kind = f"{other.api_version or 'no apiVersion'} {other.kind or 'no kind'}"
            terminal.error(f"{other.file.path}:{other.line}: skipped: {kind} {other.name}")
        skipped = f", {many(len(others), 'other')} skipped" if others else ""
        doubts = f" and {many(len(warnings), 'warning')}" if warnings else ""
        summary = (
            f"{many(errors, 'error')}{doubts} in {many(len(kronjobs), 'KronJob')} "
            f"of {many(len(manifests.paths), 'file')}{skipped}"
        )
        terminal.print(terminal.styled(summary, "red" if errors else "green"))
    return 2 if is_unread else int(bool(errors))


def _find_errors(kronjobs: list[Manifest], namespace: str) -> Iterator[Finding]:
    known: dict[str, Manifest] = {}
    for manifest in kronjobs:
        for problem in find_all_problems(manifest.content, namespace):
            yield problem_finding(manifest, problem)
        if not manifest.name:
            continue
        identity = f"{manifest.namespace or namespace}/{manifest.name}"
        first = known.setdefault(identity, manifest)
        if first is not manifest:
            message = f"{quoted(identity)} is already defined at {first.file.path}:{first.line}"
            place = manifest.place_of("metadata.name")
            fix = "leave one out, or give it another name"
            yield manifest.file.finding(Code.NAME_REPEATED, message, *place, fix)


def _find_warnings(kronjobs: list[Manifest]) -> Iterator[Finding]:
    """What is accepted, but has no effect."""
    for manifest in kronjobs:
        for problem in reserved_keys(member(manifest.content, "spec")):
            yield problem_finding(manifest, problem).replace(severity=Severity.WARNING)


def _skipped(manifest: Manifest) -> Object:
    return {
        "api_version": manifest.api_version,
        "kind": manifest.kind,
        "name": manifest.name,
        "path": manifest.file.path,
        "line": manifest.line,
    }
