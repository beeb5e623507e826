"""`kronctl validate`: check manifests without a cluster, and say everything that is wrong."""

from __future__ import annotations

from kron.console.parser import Parser, add_format
from kron.console.report import finding_document, finding_lines, many
from kron.console.terminal import Terminal
from kron.console.usage import UsageError
from kron.core.errors import Code, quoted
from kron.core.frozen import Frozen
from kron.jobs.finding import Finding
from kron.kube.kronctl.cluster import DEFAULT_NAMESPACE, add_namespace
from kron.kube.kronctl.kronjobs import add_files, is_kronjob, problem_finding
from kron.kube.kronctl.manifest import Manifest, read_manifests
from kron.kube.resource.kronjob import find_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

DESCRIPTION = """\
Check the KronJobs of manifests without a cluster: what the API server would refuse and what
kron-operator would call invalid, all of it at once, with file, line and column. Other kinds of
object are passed over, but not those that are plainly meant as a KronJob, with a misspelt kind or
group.

Exit code 1 means errors; 2, that a file cannot be read."""
EXAMPLES = (
    ("kronctl validate -f backup.yaml", "one file"),
    ("kronctl validate -f manifests/ -v", "all below a directory; say what is passed over"),
    ("helm template . | kronctl validate -f - --format json", "what a chart makes, for a script"),
)


class Validation(Frozen):
    """What manifests hold, and what is wrong with them."""

    files: tuple[str, ...]
    kronjobs: tuple[Manifest, ...]
    others: tuple[Manifest, ...]
    findings: tuple[Finding, ...]


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("-v", "--verbose", action="store_true", help="name what is passed over")
    add_namespace(parser, "for objects that name no namespace; default: default")
    add_format(parser)
    add_files(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
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
            message = f"{quoted(identity)} is there already, at {first.text.path}:{first.line}"
            place = manifest.place_of("metadata.name")
            fix = "leave one out, or give it another name"
            findings.append(manifest.text.finding(place, Code.NAME_REPEATED, message, fix))
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.start))
    return Validation(manifests.paths, tuple(kronjobs), tuple(others), tuple(findings))


def _print(validation: Validation, terminal: Terminal, *, is_verbose: bool) -> None:
    for finding in validation.findings:
        for line in finding_lines(finding, terminal.styled):
            terminal.print(line)
    if is_verbose:
        for other in validation.others:
            kind = f"{other.api_version or 'no apiVersion'} {other.kind or 'no kind'}"
            terminal.error(f"{other.text.path}:{other.line}: passed over: {kind} {other.name}")
    errors = len(validation.findings)
    passed = f", {many(len(validation.others), 'other')} passed over" if validation.others else ""
    summary = (
        f"{many(errors, 'error')} in {many(len(validation.kronjobs), 'KronJob')} "
        f"of {many(len(validation.files), 'file')}{passed}"
    )
    terminal.print(terminal.styled(summary, "red" if errors else "green"))


def _document(validation: Validation) -> dict[str, Any]:
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
                "path": other.text.path,
                "line": other.line,
            }
            for other in validation.others
        ],
    }
