"""Commit subjects are held by a check and a hook, both tried in real git repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import commits

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

GOOD = "operator: keep the later Job when recovering a replaced run"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")},
}


@pytest.fixture(autouse=True)
def _no_settings_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name in ENVIRONMENT.keys() - os.environ.keys():
        monkeypatch.setenv(name, ENVIRONMENT[name])


def git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(root: Path, subject: str) -> str:
    git(root, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose first commit is older than the rule."""
    directory = tmp_path / "repository"
    directory.mkdir()
    git(directory, "init", "--quiet", "--initial-branch", "main")
    return directory


@pytest.fixture
def base(root: Path) -> str:
    return commit(root, "Mend what nobody had told of")


@pytest.mark.parametrize(
    "subject",
    [
        GOOD,
        "krond/state: pass the open directory on",
        "core, fuzzy: merge modules with one importer",
        "docs: address what a reader asked",
        "tests: feed the fake clock",
        "make: add `make quick`",
        f"core: {'x' * (commits.LONGEST - 6)}",
    ],
)
def test_a_subject_with_an_area_and_an_imperative_is_good(subject: str) -> None:
    assert commits.problem(subject) == ""


@pytest.mark.parametrize(
    ("subject", "what"),
    [
        ("Refuse windows longer than a year", "does not start with `area: `"),
        ("Core: refuse windows longer than a year", "does not start with `area: `"),
        ("core:refuse windows longer than a year", "does not start with `area: `"),
        ("core: ", "does not start with `area: `"),
        ("core: Refuse windows", "'Refuse' is not an imperative in lower case"),
        ("core: the window ends in a year", "'the' is not an imperative in lower case"),
        ("core: refuses windows", "'refuses' is not an imperative"),
        ("core: refused windows", "'refused' is not an imperative"),
        ("core: refusing windows", "'refusing' is not an imperative"),
        ("core: refuse windows.", "ends with a full stop"),
        (f"core: {'x' * (commits.LONGEST - 5)}", "73 characters, 1 too many"),
    ],
)
def test_what_is_wrong_with_a_subject_is_said(subject: str, what: str) -> None:
    assert commits.problem(subject) == what


def test_what_git_writes_for_a_revert_passes() -> None:
    assert commits.problem(f'Revert "{GOOD}, which was a subject of the greatest length"') == ""


def test_only_commits_after_the_base_are_checked(root: Path, base: str) -> None:
    assert commits.check_history(root, base) == ("0 checked", [])
    commit(root, GOOD)
    bad = commit(root, "Mend it anew")
    summary, problems = commits.check_history(root, base)
    assert summary == "2 checked"
    (problem,) = problems
    assert problem.startswith(bad[:7])
    assert "'Mend it anew'" in problem


def test_a_merge_is_exempt_and_what_it_merges_is_not(root: Path, base: str) -> None:
    git(root, "checkout", "--quiet", "-b", "side")
    commit(root, "Told of by the side")
    git(root, "checkout", "--quiet", "main")
    commit(root, GOOD)
    git(root, "merge", "--quiet", "--no-ff", "--message", "Merge branch 'side'", "side")
    summary, problems = commits.check_history(root, base)
    assert summary == "2 checked"
    assert ["'Told of by the side'" in problem for problem in problems] == [True]


def test_a_fresh_clone_is_checked_and_a_shallow_one_passes(
    root: Path, base: str, tmp_path: Path
) -> None:
    commit(root, "Mend it anew")
    git(tmp_path, "clone", "--quiet", f"file://{root}", "fresh")
    assert len(commits.check_history(tmp_path / "fresh", base)[1]) == 1
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{root}", "shallow")
    summary, problems = commits.check_history(tmp_path / "shallow", base)
    assert "not in this clone" in summary
    assert problems == []


def test_an_archive_passes_also_inside_another_repository(root: Path, base: str) -> None:
    unpacked = root / "kron"
    unpacked.mkdir()
    commit(root, "Mend it anew")
    assert commits.check_history(unpacked, base) == ("not a git repository, so not checked", [])


def test_a_machine_without_git_passes(
    root: Path, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(root))
    assert commits.check_history(root, base) == ("not a git repository, so not checked", [])


# The hook


@pytest.fixture
def hooked(root: Path, base: str) -> Path:
    """A repository with our hook in it, and with what the hook runs."""
    (root / "tools").mkdir()
    shutil.copy(commits.ROOT / "tools/commits.py", root / "tools")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    assert commits.install(root) == ""
    return root


def attempt(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=False, env=ENVIRONMENT
    )


def test_the_hook_refuses_a_subject_and_says_the_rule(hooked: Path) -> None:
    done = attempt(hooked, "commit", "--allow-empty", "-m", "Mend it anew")
    assert done.returncode == 1
    assert "'Mend it anew': does not start with `area: `" in done.stderr
    assert commits.RULE in done.stderr
    assert git(hooked, "log", "--format=%s") == "Mend what nobody had told of"


def test_the_hook_lets_a_good_subject_pass_with_comments_and_a_body(hooked: Path) -> None:
    message = hooked / "message"
    message.write_text(f"# On branch main\n\n{GOOD}\n\nWhy.\n")
    commit_it = ("commit", "--allow-empty", "--cleanup=strip", "-F", "message")
    assert attempt(hooked, *commit_it).returncode == 0
    assert git(hooked, "log", "-1", "--format=%s") == GOOD


def test_the_hook_takes_two_lines_in_a_row_for_one_subject_as_git_does(hooked: Path) -> None:
    message = f"{GOOD}\nand then some more"
    done = attempt(hooked, "commit", "--allow-empty", "-m", message)
    assert done.returncode == 1
    assert "too many" in done.stderr


@pytest.mark.heavy
def test_the_hook_lets_merges_and_fixups_pass(hooked: Path) -> None:
    commit(hooked, GOOD)
    assert attempt(hooked, "commit", "--allow-empty", "--fixup=HEAD").returncode == 0
    git(hooked, "checkout", "--quiet", "-b", "side", "HEAD~1")
    commit(hooked, "docs: say why")
    assert attempt(hooked, "merge", "--no-ff", "--no-edit", "main").returncode == 0
    assert git(hooked, "log", "-1", "--merges", "--format=%s") == "Merge branch 'main' into side"


@pytest.mark.heavy
def test_the_hook_holds_in_a_second_working_tree_and_not_without_its_check(
    hooked: Path, tmp_path: Path
) -> None:
    git(hooked, "worktree", "add", "--quiet", "-b", "second", str(tmp_path / "second"))
    commit(tmp_path / "second", "A tree without tools/commits.py, as before the rule")
    shutil.copytree(hooked / "tools", tmp_path / "second/tools")
    done = attempt(tmp_path / "second", "commit", "--allow-empty", "-m", "Mend it anew")
    assert done.returncode == 1


def test_a_hook_of_ones_own_is_kept(root: Path) -> None:
    hook = root / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert "exists already" in commits.install(root)
    assert hook.read_text() == "#!/bin/sh\n"


def test_our_own_hook_is_replaced(hooked: Path) -> None:
    hook = hooked / ".git/hooks/commit-msg"
    hook.write_text(hook.read_text() + "# of an older version\n")
    assert commits.install(hooked) == ""
    assert hook.read_text() == commits.HOOK


def test_hooks_that_are_elsewhere_are_left_alone(root: Path) -> None:
    git(root, "config", "core.hooksPath", "/somewhere/else")
    assert "core.hooksPath is '/somewhere/else'" in commits.install(root)


def test_a_hook_needs_a_repository(tmp_path: Path) -> None:
    assert commits.install(tmp_path) == "not a git repository: no hook to install"
