"""`python -m bench [name...]`: measure, report, and fail when a target is missed."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence

from bench import command, decision, fuzzy, nominal, settle, startup
from bench.measure import Result, progress

BENCHES: dict[str, Callable[[], Iterator[Result]]] = {
    "nominal": nominal.measure,
    "decide": decision.measure,
    "settle": settle.measure,
    "import": startup.measure,
    "fuzzy": fuzzy.measure,
    "krontab": command.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benches that were named, or all; 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(BENCHES)}")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHES:
            parser.error(f"no bench is called {name!r}: there are {', '.join(BENCHES)}")
    results: dict[str, list[Result]] = {}
    for name in options.names or BENCHES:
        results[name] = list(BENCHES[name]())
        progress("")
        if options.format == "table":
            print(_table(name, results[name]), end="\n\n", flush=True)
    missed = [r for found in results.values() for r in found if r.met is False]
    if options.format == "json":
        print(json.dumps(_document(results, all_met=not missed), indent=2))
    else:
        print(f"{len(missed)} missed" if missed else "every target met")
    return 1 if missed else 0


def _document(results: dict[str, list[Result]], *, all_met: bool) -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "met": all_met,
        "benches": {
            name: [result.to_json() for result in found] for name, found in results.items()
        },
    }


def _table(name: str, results: list[Result]) -> str:
    rows = [(name, "measured", "target", "", "")]
    rows += [
        (
            result.case,
            f"{_number(result.value)} {result.unit}".rstrip(),
            result.target,
            {True: "met", False: "MISSED", None: ""}[result.met],
            ", ".join(f"{_number(value)} {what}" for what, value in result.details.items()),
        )
        for result in results
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _number(value: float) -> str:
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
