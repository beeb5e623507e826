"""A workflow file that is being read: its text, its YAML and the nodes of that, and what is wrong.

Bytes that are not UTF-8 are kept: the body of a Markdown file may have any. In the YAML part they
are an error.
"""

from __future__ import annotations

import re
from enum import StrEnum

from kron.core.errors import SHOWN_PROBLEMS, Code, quoted
from kron.core.frozen import Frozen
from kron.jobs.finding import Finding, Severity
from kron.yaml_text.file_text import BYTE_ORDER_MARK, FileText
from kron.yaml_text.json_values import Stretch
from kron.yaml_text.tree import Repeated, YamlError, YamlNode, read_documents

SUFFIXES = (".md", ".yml", ".yaml")
MOST_NODES = 100_000

Signature = list[tuple[str, ...]]
"""What each event of the YAML means, whatever it looks like: its type, value, anchor and tag."""
END = ("end",)

_ENCODING = ("utf-8", "surrogateescape")
_FENCE = re.compile(r"---[ \t]*+(?:\r?\n|\Z)")
_CLOSING_FENCE = re.compile(r"^---[ \t]*+\r?$", re.MULTILINE)
_LIKELY = re.compile(r"""(?:^|[\s{,?"'])on["']?\s*+:""")

# Characters that YAML does not allow, and line breaks of YAML 1.1 that editors, GitHub and YAML 1.2
# do not treat as line breaks.
_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\r(?!\n)"
)


class WorkflowCode(StrEnum):
    """What is wrong with a workflow file, besides `kron.Code`. docs/fuzzy-compile.md lists them."""

    YAML = "yaml"
    FORM = "schedule-form"
    COMMENT = "schedule-comment"
    PLACE = "schedule-place"
    OUTDATED = "schedule-outdated"
    REPOSITORY = "repository"


class Tree(Frozen):
    """The document: its root, and each event's span and meaning by the event's number."""

    root: YamlNode | None
    spans: list[tuple[int, int]]
    signature: Signature


class WorkflowSource(FileText):
    def __init__(self, path: str, data: bytes) -> None:
        super().__init__(path, data.decode(*_ENCODING))
        self.findings: list[Finding] = []
        self.unshown = 0
        """How many more findings were not kept: of one file, 20 are enough."""

    @property
    def has_errors(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def report(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        fix: str = "",
        *,
        severity: Severity = Severity.ERROR,
    ) -> None:
        if sum(finding.severity is severity for finding in self.findings) >= SHOWN_PROBLEMS:
            self.unshown += 1
        else:
            finding = self.finding(code, message, start, end, fix)
            self.findings.append(finding.replace(severity=severity))


def encoded(text: str) -> bytes:
    """The bytes of a text that `WorkflowSource` has read, or of an edited one."""
    return text.encode(*_ENCODING)


def yaml_part(source: WorkflowSource) -> Stretch | None:
    """The YAML of a file; None for Markdown without front matter."""
    text = source.text
    start = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0
    if not source.path.endswith(".md"):
        return Stretch(text[start:], start)
    fence = _FENCE.match(text, start)
    if fence is None:
        return None
    closing = _CLOSING_FENCE.search(text, fence.end())
    end = closing.start() if closing else len(text)
    return Stretch(text[fence.end() : end], fence.end())


def is_likely(part: Stretch) -> bool:
    """Whether it may have a schedule under `on`. Other files below a directory are skipped."""
    return "schedule" in part.text and _LIKELY.search(part.text) is not None


def _report_forbidden(source: WorkflowSource, part: Stretch) -> None:
    """Report the first character of the YAML part that is not allowed."""
    match = _FORBIDDEN.search(part.text)
    if match is None:
        return
    point = ord(match[0])
    message = f"the character U+{point:04X} is not allowed in a workflow"
    fix = "delete it, or write it as an escape"
    if 0xDC80 <= point <= 0xDCFF:
        message = f"the file is not UTF-8: it has the byte 0x{point - 0xDC00:02x}"
        fix = "save it as UTF-8"
    elif match[0] == "\r":
        message = "a carriage return without a line feed is not a line break for GitHub"
        fix = "end lines with LF or CR LF"
    start = part.start + match.start()
    source.report(Code.TEXT, message, start, start + 1, fix)


def read_tree(source: WorkflowSource, part: Stretch) -> Tree | None:
    """The tree of the YAML; None if something is wrong, which is then among the findings."""
    is_closed = part.start + len(part.text) < len(source.text)  # a fence comes after it
    if source.path.endswith(".md") and not is_closed:
        message = "the front matter has no end: a line --- is missing"
        fence = source.text.index("---")
        source.report(WorkflowCode.YAML, message, fence, fence + 3)
    else:
        _report_forbidden(source, part)
    if source.findings:
        return None
    repeated: Repeated = []
    root = None
    try:
        for document in read_documents(part, repeated, most_nodes=MOST_NODES, only_one=True):
            root = document
    except YamlError as error:
        code = WorkflowCode.YAML if error.code is Code.TEXT else error.code
        source.report(code, error.message, error.start, error.start + 1, error.fix)
    for key, first in repeated:
        name, line = quoted(key.resolved.value), source.line_of(first.start)
        message = f"the key {name} is given twice, first on line {line}"
        source.report(Code.KEY_REPEATED, message, key.start, key.end, "delete one of them")
    if source.has_errors:
        return None
    tree = Tree(root, [], [])
    if root is not None:
        _add_events(tree, root)
    return tree


def _add_events(tree: Tree, node: YamlNode) -> None:
    """Add the events of a node and of those below it, at most `DEEPEST` levels."""
    tree.spans.append((node.start, node.end))
    tree.signature.append((node.type, node.value, node.anchor, node.tag))
    for child in node.children:
        _add_events(tree, child)
    if node.has_end:
        tree.spans.append(node.close)
        tree.signature.append(END)
