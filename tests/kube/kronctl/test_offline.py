"""kronctl without a cluster: explain, next, list and diff of manifests, and what they load."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from kron.console.program import module_name
from kron.kube.kronctl.program import COMMANDS, EXIT_CODES, KRONCTL
from tests.krontab.command import AT, TIME_LIMIT_S, Krontab
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import kronjob

HEAVY = ["aiohttp", "asyncio", "dataclasses", "inspect", "logging", "socket", "ssl", "typing"]
PROGRAM = """\
import sys
sys.path[:0] = {path!r}
from kron.kube.kronctl.program import main
assert main(sys.argv[1:]) == 0
print("loaded:", *sorted({heavy!r} & set(sys.modules)), file=sys.stderr)
"""


@pytest.fixture
def kronctl(kronctl: Kronctl) -> Kronctl:
    kronctl.write("a.yaml", kronjob())
    kronctl.write("d/a.yaml", kronjob())
    kronctl.write("d/b.yaml", kronjob("report", "'*/30 * * * *'"))
    kronctl.write("d/c.yaml", kronjob("rest", more="  policy: {suspend: true}\n"))
    return kronctl


def test_next_is_what_krontab_says_of_the_same_schedule(kronctl: Kronctl) -> None:
    ours = kronctl("next", "-f", "a.yaml", "--at", AT).fine()
    krontab = Krontab(kronctl.directory.parent)
    schedule = ("--schedule", "0 2 * * * @win(after,3h)", "--identity", "prod/backup")
    assert ours.out == krontab("next", *schedule, "--at", AT).fine().out


def test_explain_is_what_krontab_says_but_for_the_name(kronctl: Kronctl) -> None:
    ours = kronctl("explain", "-f", "a.yaml", "--at", AT).fine()
    krontab = Krontab(kronctl.directory.parent)
    schedule = ("--schedule", "0 2 * * * @win(after,3h)", "--identity", "prod/backup")
    theirs = krontab("explain", *schedule, "--at", AT).fine()
    assert ours.lines[0] == "backup  a.yaml:1"
    assert ours.lines[1:] == theirs.lines[1:]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(("next",), "no KronJob is named", id="nothing"),
        pytest.param(("next", "a/b/c"), "is not the name of a KronJob", id="no-name"),
        pytest.param(("next", "-f", "d"), "the files have 3 KronJobs", id="several"),
        pytest.param(("next", "-f", "d", "bakcup"), 'did you mean "backup"', id="a-typing-error"),
        pytest.param(("next", "-f", "d", "test/backup"), "does not exist", id="another-namespace"),
        pytest.param(("next", "-f", "absent.yaml"), "absent.yaml does not exist", id="no-file"),
        pytest.param(("diff", "a.yaml"), "it is unclear what to compare", id="one-side"),
        pytest.param(
            ("diff", "-", "-"), "standard input, which can be read only once", id="input-twice"
        ),
        pytest.param(("list", "--kubeconfig", "absent"), "absent", id="no-kubeconfig"),
        pytest.param(
            ("list", "-f", "d", "-A"), "cannot be used with files", id="files-and-namespaces"
        ),
        pytest.param(
            ("next", "-f", "d", "--context", "x"),
            "cannot be used with files",
            id="files-and-a-context",
        ),
        pytest.param(
            ("diff", "d", "d", "--kubeconfig", "x"), "cannot be used with files", id="diff-of-files"
        ),
        pytest.param(
            ("list", "-A", "-n", "x"), "cannot be used together", id="all-and-one-namespace"
        ),
        pytest.param(
            ("migrate", "a", "-l", "x=y"), "cannot be used together", id="names-and-labels"
        ),
    ],
)
def test_what_cannot_be_answered_is_said(
    kronctl: Kronctl, words: tuple[str, ...], told: str
) -> None:
    ran = kronctl(*words)
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert told in ran.err


def test_the_one_of_several_that_is_named(kronctl: Kronctl) -> None:
    for name in ("report", "prod/report"):
        ran = kronctl("next", name, "-f", "d", "--at", AT, "--format", "json")
        assert ran.json["identity"] == "prod/report"


def test_a_namespace_that_is_not_said_is_part_of_the_identity(kronctl: Kronctl) -> None:
    kronctl.write("n.yaml", kronjob().replace("  namespace: prod\n", ""))

    ran = kronctl("next", "-f", "n.yaml", "--format", "json")
    assert ran.json["identity"] == "default/backup"
    assert ran.err.startswith("note: n.yaml:1 names no namespace; default is used")
    assert kronctl("list", "-f", "n.yaml").err == ran.err
    ran = kronctl("next", "-f", "n.yaml", "--format", "json", "-n", "test").fine()
    assert ran.json["identity"] == "test/backup"


def test_a_broken_manifest_is_told_with_its_place(kronctl: Kronctl) -> None:
    kronctl.write("a.yaml", kronjob(schedule="0 25 * * *"))
    ran = kronctl("next", "-f", "a.yaml")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("a.yaml:7:15: error: spec.schedule: column 3: hour:")


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        pytest.param("v1alpha1", "v9", "a.yaml:1:13: error: apiVersion", id="another-version"),
        pytest.param(
            "name: backup\n",
            "name: backup\n  annotations: {a: 5}\n",
            'a.yaml:5:20: error: metadata.annotations["a"]',
            id="an-annotation-that-is-a-number",
        ),
        pytest.param(
            "name: backup\n",
            "name: backup\n  labels: x\n",
            "a.yaml:5:11: error: metadata.labels",
            id="labels-that-are-text",
        ),
        pytest.param(
            "apiVersion", "x: &x {a: 1}\napiVersion", "a.yaml:1:1: error: x: ", id="an-anchor"
        ),
    ],
)
def test_what_validate_refuses_has_no_times(
    kronctl: Kronctl, right: str, wrong: str, place: str
) -> None:
    kronctl.write("a.yaml", kronjob().replace(right, wrong))
    validated = kronctl("validate", "-f", "a.yaml")
    assert (validated.code, validated.out[: len(place)]) == (1, place)
    for words in (
        ("list", "-f", "a.yaml"),
        ("next", "-f", "a.yaml"),
        ("explain", "-f", "a.yaml"),
        ("diff", "a.yaml", "d"),
    ):
        ran = kronctl(*words)
        assert (ran.code, ran.out) == (2 if "d" in words else 1, "")
        assert validated.out.startswith(ran.err)


def test_a_name_that_the_api_server_would_generate_has_no_times_yet(kronctl: Kronctl) -> None:
    kronctl.write("a.yaml", kronjob().replace("name: backup", "generateName: backup-"))
    said = "a.yaml:3:1: error: metadata.name: it is missing: the times of a KronJob follow from its"
    ran = kronctl("validate", "-f", "a.yaml")
    assert (ran.code, ran.out.startswith(said)) == (1, True)
    for command in ("list", "next", "explain"):
        ran = kronctl(command, "-f", "a.yaml")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith(said)


def test_what_is_plainly_meant_as_a_kronjob_is_not_passed_over(kronctl: Kronctl) -> None:
    kronctl.write("a.yaml", kronjob().replace("kron.io", "kron.oi"))
    ran = kronctl("list", "-f", "a.yaml")
    assert (ran.code, ran.out) == (1, "")
    assert "fix: write apiVersion: kron.io/v1alpha1" in ran.err


def test_list_shows_the_next_one_first_and_what_is_suspended_last(kronctl: Kronctl) -> None:
    ran = kronctl("list", "-f", "d", "--at", AT).fine()
    assert [line.split()[:2] for line in ran.lines[1:]] == [
        ["prod/report", "2026-03-01T00:00:00Z"],
        ["prod/backup", "2026-03-01T04:02:59Z"],
        ["prod/rest", "suspended"],
    ]
    assert ran.lines[0].split()[-2:] == ["SCHEDULE", "FILE"]
    assert ran.lines[2].endswith("d/a.yaml:1")
    names = kronctl("list", "-f", "d", "--format", "names", "--name", "re*").fine()
    assert names.lines == ["prod/report", "prod/rest"]


def test_diff_shows_which_runs_move(kronctl: Kronctl) -> None:
    kronctl.write("new.yaml", kronjob(schedule="0 2 * * * @win(after,3h) @seed(stable,salt=x)"))
    words = ("diff", "a.yaml", "new.yaml", "--at", AT, "--days", "2")
    ran = kronctl(*words)
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines[0] == "changed prod/backup  (2 runs)"
    assert ran.lines[1].startswith("  2026-03-01T02:00:00Z: 2026-03-01T04:02:59Z -> ")
    assert kronctl("diff", "a.yaml", "d/a.yaml").code == 0


def test_two_of_one_name_are_listed_each_with_its_own_run(kronctl: Kronctl) -> None:
    kronctl.write("old.yaml", kronjob(schedule="0 4 * * *"))
    kronctl.write("new.yaml", kronjob(schedule="0 5 * * *"))
    ran = kronctl("list", "-f", "old.yaml", "-f", "new.yaml", "--at", AT).fine()
    assert [line.split()[1] for line in ran.lines[1:]] == [
        "2026-03-01T04:00:00Z",
        "2026-03-01T05:00:00Z",
    ]


def test_two_of_one_name_cannot_be_compared(kronctl: Kronctl) -> None:
    kronctl.write("d/again.yaml", kronjob(schedule="0 5 * * *"))
    ran = kronctl("diff", "a.yaml", "d")
    assert (ran.code, ran.out) == (2, "")
    assert '"prod/backup" is defined twice, at d/a.yaml:1 and d/again.yaml:1' in ran.err


def loaded(kronctl: Kronctl, *words: str) -> list[str]:
    path = [each for each in sys.path if each]
    heavy = {*HEAVY, *(f"kron.kube.kronctl.commands.{module_name(name)}" for name in COMMANDS)}
    program = PROGRAM.format(path=path, heavy=heavy)
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program, *words],
        capture_output=True,
        text=True,
        cwd=kronctl.directory,
        env=kronctl.environment,
        check=True,
    )
    return ran.stderr.rpartition("loaded:")[2].split()


@pytest.mark.parametrize("command", ["explain", "next", "list", "validate"])
def test_nothing_of_a_cluster_is_loaded_to_answer_from_files(
    kronctl: Kronctl, command: str
) -> None:
    assert loaded(kronctl, command, "-f", "a.yaml") == [f"kron.kube.kronctl.commands.{command}"]


@pytest.mark.parametrize("words", [("--help",), ("next", "--help")], ids=" ".join)
def test_nothing_of_a_cluster_is_loaded_to_help(kronctl: Kronctl, words: tuple[str, ...]) -> None:
    assert [name for name in loaded(kronctl, *words) if not name.startswith("kron.")] == []


@pytest.mark.parametrize(
    ("program", "name"), [("kronctl", "kronctl"), ("kubectl-kron", "kubectl kron")]
)
def test_help_shows_the_name_that_it_was_called_by(
    kronctl: Kronctl, program: str, name: str
) -> None:
    code = "import sys; from kron.kube.kronctl.program import main; sys.exit(main())"
    path = kronctl.write(f"bin/{program}", f"#!{sys.executable}\n{code}\n", mode=0o755)
    ran = subprocess.run([path, "next", "--help"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(f"usage: {name} next")
    ran = subprocess.run([path, "--help"], capture_output=True, text=True, check=True)
    assert f"\n  {name} validate -f manifests/" in ran.stdout


def test_every_command_has_its_help_and_examples_that_parse() -> None:
    for name in KRONCTL.commands:
        parser = KRONCTL.parser(name)
        for example, _ in parser.command.EXAMPLES:
            line = re.split(" (?:&&|[|][|]|>) ", example)[0].rpartition(" | ")[2]
            line = re.sub(r'^eval "\$\((.*)\)"$', r"\1", line)
            program, command, *words = shlex.split(line)
            assert (program, command) == ("kronctl", name)
            parser.parse_args(words)
    assert set(EXIT_CODES) == {0, 1, 2}
    assert set(KRONCTL.exit_codes) == {0, 1, 2, 130, 141}


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "1899-12-31T23:59:59Z"])
def test_a_moment_that_kron_does_not_cover_is_a_wrong_command_line(
    kronctl: Kronctl, at: str
) -> None:
    kronctl.write("a.yaml", kronjob())
    for command in ("list", "next", "explain"):
        ran = kronctl(command, "-f", "a.yaml", "--at", at)
        assert (ran.code, ran.out) == (2, "")
        assert "argument --at: " in ran.err
        assert "is outside the years 1900 to 2999" in ran.err


@pytest.mark.heavy
def test_a_reader_that_ends_early_ends_it_as_documented(kronctl: Kronctl) -> None:
    command = shlex.join([sys.executable, "-m", kronctl.module, "validate", "--help"])
    ran = subprocess.run(
        ["sh", "-c", f"({command}; echo $? >&2) | :"],
        env=kronctl.environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert ran.stderr == "141\n"
