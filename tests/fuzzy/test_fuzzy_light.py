"""Light: fuzzy schedules are loaded by who uses them, and load nothing heavy themselves."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.test_light import HEAVY

USES = {
    "import": "import kron.fuzzy",
    "parse": "import kron.fuzzy; kron.fuzzy.parse('daily around 14:00 utc+9')",
    "scatter": "import kron.fuzzy; kron.fuzzy.scatter('weekly', 'owner/repo/path.md')",
    "refuse": (
        "import kron.fuzzy\ntry: kron.fuzzy.parse('weekly on mondey')\n"
        "except kron.KronError as error: str(error)\n"
    ),
}


def loaded(use: str) -> set[str]:
    # -S: an editable installation's own start-up hook is not Kron's doing. Nor is what zoneinfo
    # loads: above Python 3.11 that is `threading`.
    path = f"import sys, zoneinfo; sys.path[:0] = {[p for p in sys.path if p]!r}\n"
    program = "before = set(sys.modules)\n" + use + "\nprint(*set(sys.modules) - before)"
    found = subprocess.run(
        [sys.executable, "-S", "-c", path + program], capture_output=True, text=True, check=True
    )
    return set(found.stdout.split())


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_nothing_heavy_is_loaded(use: str) -> None:
    assert loaded(use) & {*HEAVY, "difflib"} == set()


def test_the_conformance_suite_is_loaded_by_who_asks_for_it() -> None:
    assert not any("conformance" in name for name in loaded("import kron.fuzzy"))


def test_importing_kron_does_not_load_fuzzy_schedules() -> None:
    assert not any(name.startswith("kron.fuzzy") for name in loaded("import kron"))
