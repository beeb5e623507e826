"""What importing kron costs, what it must not load, and what dataclasses would have cost instead.

Importing is measured from outside, in fresh processes that take turns with a bare Python; here
the median counts, because the least would hide what a person waits for. The bytecode is cached
beforehand, as it is for anything installed, and in a place of its own: the caller's environment
may have turned the usual cache off.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench.measure import Prepare, Result, Run, least_seconds, progress
from kron.core import frozen

BUDGET_MS = 40
ROUNDS = 31
FORBIDDEN = ("numpy", "asyncio", "kubernetes")
CLASSES = 50
INSTANCES = 20_000

_FROZEN_DIRECTORY = str(Path(frozen.__file__).parent)
_STATEMENTS = {
    "bare": "pass",
    "kron": "import kron",
    "dataclasses": "import dataclasses",
    # By itself, from its own directory: `import kron.core.frozen` would load kron around it.
    "frozen": f"import sys; sys.path.insert(0, {_FROZEN_DIRECTORY!r}); import frozen",
}
_FIELDS = "    a: int\n    b: int\n    c: str\n    d: str = ''\n    e: int = 0\n"


def measure() -> Iterator[Result]:
    """The import budget, the modules that stay out, and frozen values beside dataclasses."""
    progress("import ...")
    with TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for statement in _STATEMENTS.values():
            _seconds_of(statement, environment)
        took_s: dict[str, list[float]] = {name: [] for name in _STATEMENTS}
        for _ in range(ROUNDS):
            for name, statement in _STATEMENTS.items():
                took_s[name].append(_seconds_of(statement, environment))
    bare = median(took_s["bare"]) * 1e3
    more = {name: median(times) * 1e3 - bare for name, times in took_s.items()}
    yield Result(
        "import kron, more than starting Python",
        more["kron"],
        "ms",
        f"< {BUDGET_MS}",
        more["kron"] < BUDGET_MS,
        {"bare Python ms": bare},
    )
    loaded = _forbidden_modules()
    found = len(loaded)
    case = f"import kron loads {' '.join(loaded) or 'no ' + ', no '.join(FORBIDDEN)}"
    yield Result(case, found, "modules", "0", not found)
    for name in ("dataclasses", "frozen"):
        yield Result(f"import {name}, more than starting Python", more[name], "ms")
    yield from _frozen_values()


def _seconds_of(statement: str, environment: dict[str, str]) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
    return perf_counter() - start


def _forbidden_modules() -> list[str]:
    statement = "import sys, kron; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", statement], check=True, capture_output=True, text=True
    )
    return [name for name in FORBIDDEN if name in answer.stdout.split()]


def _frozen_values() -> Iterator[Result]:
    progress("frozen values ...")
    from dataclasses import dataclass

    dataclass_source = "@dataclass(frozen=True, slots=True)\nclass Value:\n" + _FIELDS
    frozen_source = "class Value(Frozen):\n" + _FIELDS
    names: dict[str, object] = {
        "dataclass": dataclass,
        "Frozen": frozen.Frozen,
        "__name__": "bench",
    }
    made = least_seconds(
        {
            "dataclass": _executing(dataclass_source, names),
            "frozen": _executing(frozen_source, names),
        },
        rounds=10,
    )
    yield Result(
        "a class of five fields: dataclass / frozen",
        made["dataclass"] / made["frozen"],
        "times as long",
        details={f"{name} us": seconds / CLASSES * 1e6 for name, seconds in made.items()},
    )
    stored = least_seconds(
        {
            "dataclass": _instantiating(dataclass_source, names),
            "frozen": _instantiating(frozen_source, names),
        },
        rounds=20,
    )
    yield Result(
        "an instance of five fields: dataclass / frozen",
        stored["dataclass"] / stored["frozen"],
        "times as long",
        details={f"{name} us": seconds / INSTANCES * 1e6 for name, seconds in stored.items()},
    )


def _executing(source: str, names: dict[str, object]) -> Prepare:
    code = compile(source, "bench", "exec")

    def run() -> None:
        for _ in range(CLASSES):
            exec(code, dict(names))

    def prepare() -> Run:
        return run

    return prepare


def _instantiating(source: str, names: dict[str, object]) -> Prepare:
    namespace = dict(names)
    exec(source, namespace)
    make: Any = namespace["Value"]

    def run() -> None:
        for _ in range(INSTANCES):
            make(1, 2, "three")

    def prepare() -> Run:
        return run

    return prepare
