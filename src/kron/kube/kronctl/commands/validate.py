"""`kronctl validate`: check manifests without a cluster, and report all errors."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, UsageError, add_format
from kron.console.report import finding_document, finding_lines, many
from kron.console.terminal import Terminal
from kron.core.errors import Code, quoted
from kron.core.frozen import Frozen
from kron.jobs.finding import Finding
from kron.kube.api_object import Object
from kron.kube.kronctl.cluster import DEFAULT_NAMESPACE, add_namespace
from kron.kube.kronctl.kronjobs import add_files, is_kronjob, problem_finding
from kron.kube.kronctl.manifest import Manifest, read_manifests
from kron.kube.resource.kronjob import find_problems

DESCRIPTION = """\
Check the KronJobs of manifests without a cluster. This reports everything that the API server would
refuse or kron-operator would call invalid, with file, line and column. Other kinds of object are
skipped, except for KronJobs with a misspelt kind or group.

Exit code 1 means errors; 2, that a file cannot be read."""
EXAMPLES = (
    ("kronctl validate -f backup.yaml", "one file"),
    ("kronctl validate -f manifests/ -v", "all files of a directory; list skipped objects"),
    (
        "helm template . | kronctl validate -f - --format json",
        "the output of a chart, for a script",
    ),
)


class Validation(Frozen):
    """The objects of manifests, and what is wrong with them."""

    files: tuple[str, ...]
    kronjobs: tuple[Manifest, ...]
    others: tuple[Manifest, ...]
    findings: tuple[Finding, ...]


def add_arguments(parser: Parser) -> None:
    parser.add_argument("-v", "--verbose", action="store_true", help="list skipped objects")
    add_namespace(parser, "for objects that name no namespace; default: default")
    add_format(parser)
    add_files(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    if not arguments.file:
        raise UsageError(Code.FILE_MISSING, "no file is named", fix="give -f FILE, DIRECTORY or -")
    validation = validate(arguments.file, arguments.namespace or DEFAULT_NAMESPACE)
    if arguments.format == "json":
        terminal.print_json({"schema": "kronctl.validate/1", **_document(validation)})
    else:
        _print(validation, terminal, is_verbose=arguments.verbose)
    if any(not finding.line for finding in validation.findings):  # of a file as a whole
        return 2
    return int(bool(validation.findings))


def validate(paths: list[str], namespace: str) -> Validation:
    """Everything that is wrong with the KronJobs of these files."""
    manifests = read_manifests(paths)
    kronjobs = [each for each in manifests.objects if is_kronjob(each)]
    others = [each for each in manifests.objects if not is_kronjob(each)]
    findings = list(manifests.findings)
    known: dict[str, Manifest] = {}
    for manifest in kronjobs:
        problems = find_problems(manifest.content, namespace)
        findings += [problem_finding(manifest, problem) for problem in problems]
        if not manifest.name:
            continue
        identity = f"{manifest.namespace or namespace}/{manifest.name}"
        first = known.setdefault(identity, manifest)
        if first is not manifest:
            message = f"{quoted(identity)} is already defined at {first.file.path}:{first.line}"
            place = manifest.place_of("metadata.name")
            fix = "leave one out, or give it another name"
            findings.append(manifest.file.finding(Code.NAME_REPEATED, message, *place, fix))
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.start))
    return Validation(manifests.paths, tuple(kronjobs), tuple(others), tuple(findings))


def _print(validation: Validation, terminal: Terminal, *, is_verbose: bool) -> None:
    for finding in validation.findings:
        terminal.print(*finding_lines(finding, terminal.styled))
    if is_verbose:
        for other in validation.others:
            kind = f"{other.api_version or 'no apiVersion'} {other.kind or 'no kind'}"
            terminal.error(f"{other.file.path}:{other.line}: skipped: {kind} {other.name}")
    errors = len(validation.findings)
    skipped = f", {many(len(validation.others), 'other')} skipped" if validation.others else ""
    summary = (
        f"{many(errors, 'error')} in {many(len(validation.kronjobs), 'KronJob')} "
        f"of {many(len(validation.files), 'file')}{skipped}"
    )
    terminal.print(terminal.styled(summary, "red" if errors else "green"))


def _document(validation: Validation) -> Object:
    return {
        "files": list(validation.files),
        "kronjobs": len(validation.kronjobs),
        "errors": len(validation.findings),
        "findings": [finding_document(finding) for finding in validation.findings],
        "passed_over": [
            {
                "api_version": other.api_version,
                "kind": other.kind,
                "name": other.name,
                "path": other.file.path,
                "line": other.line,
            }
            for other in validation.others
        ],
    }
