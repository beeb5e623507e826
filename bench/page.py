"""The page of results: tables in Markdown, put between the marks that a page has for them.

`<!-- bench: krond -->` and `<!-- end -->` stand around what belongs to one bench. What is between
them is replaced; everything else on the page was written by hand, and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.measure import Result
from bench.report import cells


class PageError(Exception):
    """The page has no marks for a bench."""


def check(page: Path, names: Iterable[str]) -> None:
    """A `PageError` if the page lacks a place for one of these benches: before they are run."""
    try:
        text = page.read_text()
    except OSError as error:
        raise PageError(str(error)) from None
    for name in names:
        if len(_place(name).findall(text)) != 1:
            raise PageError(f"{page} has no place, or several, for the bench {name!r}")


def put(page: Path, name: str, machine: str, results: Sequence[Result]) -> None:
    """Replace what the page says about this bench."""
    section = f"<!-- bench: {name} -->\n\n{_markdown(machine, results)}\n\n<!-- end -->"
    page.write_text(_place(name).sub(lambda _: section, page.read_text()))


def _place(name: str) -> re.Pattern[str]:
    return re.compile(rf"<!-- bench: {re.escape(name)} -->\n.*?<!-- end -->", re.DOTALL)


def _markdown(machine: str, results: Sequence[Result]) -> str:
    lines = [machine, "", "| | measured | target | | more |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(map(_escaped, cells(r)))} |" for r in results]
    return "\n".join(lines)


def _escaped(cell: str) -> str:
    return cell.replace("|", "/").replace("*", r"\*")
