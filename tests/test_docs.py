"""The documentation says what the code does: tables are compared, examples are run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

import kron
from kron.core.cron import LONGEST_FIELD
from kron.core.decision import MAX_ATTEMPTS
from kron.core.errors import SHOWN_PROBLEMS
from kron.core.instant import FIRST_YEAR, LAST_YEAR
from kron.engine import ledger_from_json, ledger_to_json
from kron.engine.job import MAX_OPEN_PERIODS
from kron.engine.step import MOST_ONE_BY_ONE
from kron.jobs.document import KEPT_FINDINGS
from kron.jobs.task import DEFAULT_GRACE_NS
from kron.krond.configuration.settings import OnStop
from kron.krond.control.requests import Requests
from kron.krond.control.server import CONNECTIONS
from kron.krond.control.wire import REQUEST_BYTES, parse_request
from kron.krond.daemon import Daemon
from kron.krond.program import EXIT_CODES, KROND
from kron.krond.runs.shortage import FIRST_RETRY_NS, LONGEST_RETRY_NS
from kron.krontab.program import KRONTAB
from kron.runtime import DEFAULT_SLACK_S

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


PRODUCT = ("*.md", "docs/**/*", *(f"{room}/**/*.py" for room in ("src", "bench", "demo", "tools")))
WRITTEN = (
    *PRODUCT,
    "Makefile",
    "*.toml",
    "tests/**/*.py",
    "deploy/**/*.yaml",
    "share/systemd/**/*",
)
# A document that is not in the repository. "The seed" alone is what a decision is drawn from.
ELSEWHERE = re.compile(
    r"\b(?:DESIGN|DEPENDENCIES)\b|\b[Ss]eed 0\d\d\b"
    r"|\b[Tt]he seed (?:asks|has|lacks|lists|prescribes|says)\b"
)
# Words that a reader of plain English stumbles over, and what to write: report or log; fix; again;
# at most N; people or the jobs that.
STUMBLED_OVER = re.compile(
    r"\b(?:[Tt]old|mend(?:s|ed|ing)?|anew|as ever|so many|[Tt]hose who|is none)\b"
)


def lines_with(pattern: re.Pattern[str], globs: tuple[str, ...]) -> list[str]:
    """The lines in which it is found, each with its file and number; this file is not searched."""
    paths = {path for glob in globs for path in ROOT.glob(glob) if path.is_file()}
    assert len(paths) > 300
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(paths - {Path(__file__)})
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.heavy
def test_no_text_refers_to_a_document_that_is_not_in_the_repository() -> None:
    assert lines_with(ELSEWHERE, WRITTEN) == []


@pytest.mark.heavy
def test_docs_and_code_are_in_plain_words() -> None:
    assert lines_with(STUMBLED_OVER, PRODUCT) == []


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    section = text.split(f"\n{heading}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert table is not None
    lines = table[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_error_code_is_documented_and_no_other() -> None:
    documented = [row[0].strip("`") for row in rows(page("errors.md"), "## Codes")]
    assert documented == list(kron.Code)


def test_every_limit_is_documented_with_its_value() -> None:
    documented = {row[0]: row[1] for row in rows(page("errors.md"), "## Limits")}
    limits = kron.Limits()
    assert documented == {
        "file": f"{limits.file_bytes:,} bytes",
        "length of a schedule or a line": f"{limits.line_bytes:,} bytes",
        "jobs of a configuration": f"{limits.jobs:,}",
        "window": f"{limits.window_days} days",
        "clauses of a constraint": str(limits.clauses),
        "years": f"{FIRST_YEAR} to {LAST_YEAR}",
        "length of a cron field or list of values": f"{LONGEST_FIELD:,} characters",
        "problems reported of a text": str(SHOWN_PROBLEMS),
        "problems reported of a file": f"{KEPT_FINDINGS:,}",
        "draws for a decision": str(MAX_ATTEMPTS),
        "periods of a job that are open at once": f"{MAX_OPEN_PERIODS:,}",
        "missed periods reported one by one": str(MOST_ONE_BY_ONE),
    }


def test_the_error_message_in_the_docs_is_what_is_printed() -> None:
    (shown,) = blocks(page("errors.md"), "text")
    with pytest.raises(kron.ParseError) as caught:
        kron.parse_schedule("5/10 * * * * @win(after,2d)")
    assert shown == f"{caught.value}\n"


@pytest.mark.parametrize(
    "line", [line for block in blocks(page("syntax.md"), "kron") for line in block.splitlines()]
)
def test_every_schedule_in_the_docs_parses(line: str) -> None:
    kron.parse_schedule(line)


def test_the_canonical_text_in_the_docs_is_canonical() -> None:
    *_, written = blocks(page("syntax.md"), "kron")
    (canonical,) = blocks(page("syntax.md"), "canonical")
    assert str(kron.parse_schedule(written.strip())) == canonical.strip()


def test_the_examples_of_the_python_api_run() -> None:
    names: dict[str, object] = {}
    examples = blocks(page("python.md"), "python")
    assert len(examples) >= 6
    for example in examples:
        exec(example, names)


def test_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "python")
    exec(example, {})
    promised = [line.removeprefix("# ") for line in example.splitlines() if line[:2] == "# "]
    assert capsys.readouterr().out.splitlines() == promised


def test_the_ledger_in_the_docs_reads_and_writes_as_shown() -> None:
    shown, packed = map(json.loads, blocks(page("engine.md"), "json"))
    assert ledger_to_json(ledger_from_json(shown)) == shown
    del shown["handled"]
    few = ledger_from_json({**shown, "schema": 3, "handled_packed": packed})
    minutes = [(nominal_s - min(few.handled_s)) // 60 for nominal_s in sorted(few.handled_s)]
    assert minutes == [0, 5, 10, 5_000, 5_005]


def test_every_decision_record_is_on_the_index() -> None:
    records = {path.name for path in (DOCS / "decisions").glob("[0-9]*.md")}
    assert set(re.findall(r"\]\(([0-9][^)]*)\)", page("decisions/index.md"))) == records


def test_every_exit_code_of_krond_is_documented_and_no_other() -> None:
    documented = {int(row[0]): row[1] for row in rows(page("daemon.md"), "## Exit codes")}
    assert documented == dict(EXIT_CODES)


def test_every_command_of_the_control_socket_is_documented_and_no_other() -> None:
    documented = [row[0].strip("`") for row in rows(page("daemon.md"), "## The control socket")]
    assert documented == list(Requests(cast("Daemon", None))._handlers)
    (example,) = blocks(page("daemon.md"), "json")
    assert parse_request(example.encode())["command"] in documented


def test_every_variable_of_a_run_is_documented_and_no_other() -> None:
    known = set()
    for file in ("surroundings.py", "process/processes.py", "notices/facts.py"):
        source = (ROOT / "src/kron/krond" / file).read_text(encoding="utf-8")
        known |= set(re.findall(r'"(KRON_\w+)"', source))
    documented = re.findall(r"^\| `(KRON_\w+)` \|", page("daemon.md"), re.MULTILINE)
    assert set(documented) == known


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(f"`--trigger-slack`, {DEFAULT_SLACK_S}s by default", id="slack"),
        pytest.param(f"`grace` ({DEFAULT_GRACE_NS // 10**9}s by default)", id="grace"),
        pytest.param(f"of at most {REQUEST_BYTES:,} bytes", id="request"),
        pytest.param(f"{CONNECTIONS} connections may be open", id="connections"),
        pytest.param(
            f"again after {FIRST_RETRY_NS / 1e9:g} s, 0.2 s, ... {LONGEST_RETRY_NS / 1e9:g} s",
            id="retries",
        ),
        pytest.param("`how`: `{}`, `{}` or `{}`".format(*OnStop), id="ways to stop"),
    ],
)
def test_a_number_of_krond_is_documented_as_it_is(words: str) -> None:
    assert words in " ".join(page("daemon.md").split())


def test_everything_of_share_that_the_docs_name_is_there() -> None:
    named = re.findall(r"(?:[`\s]|krond/)(share/[^`\s]+)", page("daemon.md"))
    assert len(named) >= 6
    installed = (ROOT, ROOT / "src/kron")
    assert [path for path in named if not any(any(at.glob(path)) for at in installed)] == []


def test_every_command_line_about_running_krond_is_one() -> None:
    lines = "".join(blocks(page("daemon.md"), "sh")).splitlines()
    programs = {"krond": KROND, "krontab": KRONTAB}
    ours = [words for line in lines if (words := shlex.split(line, comments=True))[0] in programs]
    assert len(ours) >= 6
    for program, command, *rest in ours:
        programs[program].parser(command).parse_args(rest)


@pytest.mark.heavy
def test_the_commands_of_the_readme_lead_to_a_krond_with_a_job(tmp_path: Path) -> None:
    _, example = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "sh")
    assert example.splitlines()[-1].startswith(".venv/bin/krond start --foreground")
    script = example.replace(".venv/bin/kron", f"{sys.executable} -m kron.kron")
    done = subprocess.run(
        ["/bin/sh", "-ec", f"{script.rstrip()} --once"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "event=ready" in done.stderr
    assert " jobs=1\n" in done.stderr
