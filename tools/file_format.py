"""Generates krontab(5), the manual page of the file format, from docs/krontab-file.md.

It knows the Markdown of that page: headings, paragraphs, lists, tables and blocks of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

import kron
from tools.manual import man_text

LEFT_OUT = ("What is refused",)
"""Sections that the commands themselves are better at."""


def file_page(markdown: str) -> str:
    """The manual page."""
    return "\n".join(_page(markdown)) + "\n"


def _page(markdown: str) -> Iterator[str]:
    yield r".\" made by: krontab man 5"
    yield f'.TH "KRONTAB" 5 "" "Kron {kron.__version__}" "Kron"'
    yield ".SH NAME"
    yield r"krontab \- the file of jobs that krond runs"
    for section in re.split(r"^## ", markdown, flags=re.MULTILINE):
        title, _, text = section.partition("\n")
        if title in LEFT_OUT:
            continue
        yield f".SH {'DESCRIPTION' if title.startswith('# ') else man_text(title.upper())}"
        for block in _blocks(text):
            yield from _macros(block)
    yield ".SH SEE ALSO"
    yield r"\fBkrontab\fR(1), \fBkrond\fR(1), \fBkrontab\-lint\fR(1), \fBkrontab\-explain\fR(1)"


def _blocks(text: str) -> Iterator[list[str]]:
    """Paragraphs and blocks of code, each as its lines."""
    for part in re.split(r"^(```.*?^```)$", text, flags=re.MULTILINE | re.DOTALL):
        if part.startswith("```"):
            yield part.splitlines()[:-1]
            continue
        for has_text, lines in groupby(part.splitlines(), key=lambda line: bool(line.strip())):
            if has_text:
                yield list(lines)


def _macros(lines: list[str]) -> Iterator[str]:
    first = lines[0]
    if first.startswith("```"):
        yield ".PP"
        yield ".nf"
        yield from map(man_text, lines[1:])
        yield ".fi"
    elif first.startswith("|"):
        is_fields = first.startswith("| field |")
        for line in lines[2:]:
            head, *rest = (cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|")))
            if is_fields:
                head = f"{head}={rest.pop(0)}"
            yield ".TP"
            yield rf"\fB{_inline(head.replace('`', ''))}\fR"
            yield _inline("; ".join(filter(None, rest)))
    elif first.startswith("- "):
        for item in re.split(r"^- ", "\n".join(lines), flags=re.MULTILINE)[1:]:
            yield r".IP \(bu 2"
            yield _inline(" ".join(item.split()))
    else:
        yield ".PP"
        yield _inline(" ".join(" ".join(lines).split()))


def _inline(text: str) -> str:
    """Links become their text, and what is code or strong becomes bold."""
    plain = re.sub(r"<[^>]*></a>|<a [^>]*>", "", text)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    parts = re.split(r"(`` .+? ``|`[^`]+`|\*\*[^*]+\*\*)", plain)
    return "".join(
        rf"\fB{man_text(_bare(part))}\fR" if number % 2 else man_text(part)
        for number, part in enumerate(parts)
        if part
    )


def _bare(part: str) -> str:
    """What stands between the marks."""
    marks = 3 if part.startswith("`` ") else 2 if part.startswith("**") else 1
    return part[marks:-marks].replace(r"\|", "|")
