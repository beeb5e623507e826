"""`python -m bench [name...]`: measure, report, and fail when a target is missed."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench import command, decision, fuzzy, nominal, settle, startup
from bench.krond import parts as krond
from bench.krond.workshop import disk, use
from bench.kube import parts as kube
from bench.machine import machine
from bench.measure import Result, progress
from bench.page import PageError, check, put
from bench.report import table

BENCHES: dict[str, Callable[[], Iterator[Result]]] = {
    "nominal": nominal.measure,
    "decide": decision.measure,
    "settle": settle.measure,
    "import": startup.measure,
    "fuzzy": fuzzy.measure,
    "krontab": command.measure,
    "krond": krond.measure,
    "kube": kube.measure,
}
PARTS = {
    **{f"krond.{name}": measure for name, measure in krond.PARTS.items()},
    **{f"kube.{name}": measure for name, measure in kube.PARTS.items()},
}
"""A bench that takes minutes can be run in parts; these are not run unless they are named."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benches that were named, or all; 1 when a target is missed."""
    known = {**BENCHES, **PARTS}
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(known)}")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="put the tables into this page, too"
    )
    parser.add_argument(
        "--place",
        type=Path,
        metavar="DIRECTORY",
        help="where krond and its peers write, to measure another file system than this tree's",
    )
    options = parser.parse_args(arguments)
    if options.place:
        use(options.place)
    for name in options.names:
        if name not in known:
            parser.error(f"no bench is called {name!r}: there are {', '.join(known)}")
    if options.write:
        try:
            check(options.write, options.names or BENCHES)
        except PageError as error:
            parser.error(str(error))
    results: dict[str, list[Result]] = {}
    where = machine(disk())
    for name in options.names or BENCHES:
        results[name] = list(known[name]())
        progress("")
        if options.format == "table":
            print(table(name, results[name]), end="\n\n", flush=True)
        if options.write:
            put(options.write, name, where, results[name])
    missed = [r for found in results.values() for r in found if r.met is False]
    skipped = sum(r.value is None for found in results.values() for r in found)
    if options.format == "json":
        print(json.dumps(_document(where, results, all_met=not missed), indent=2))
    else:
        print(where)
        print(f"{len(missed)} missed" if missed else "every target met", end="")
        print(f"; {skipped} could not be measured" if skipped else "")
    return 1 if missed else 0


def _document(where: str, results: dict[str, list[Result]], *, all_met: bool) -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "where": where,
        "met": all_met,
        "benches": {
            name: [result.to_json() for result in found] for name, found in results.items()
        },
    }


if __name__ == "__main__":
    sys.exit(main())
