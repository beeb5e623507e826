"""Commit subjects: `area: imperative`, at most 72 characters.

`python -m tools.commits` checks the commits that this branch has after BASE; `make lint` runs it.
The history up to BASE is older than the rule. Merge commits are exempt: git writes their subjects.
Where nothing can be checked (an unpacked archive, a shallow clone without BASE) it says so and
passes.

`--message FILE` checks one message that is about to be committed, and `--install` makes git ask
for that: it writes the commit-msg hook.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BASE = "c8040a26bd39638b831c0456c3acd18fcf287329"
LONGEST = 72
RULE = f"""\
A commit subject is `area: imperative`, at most {LONGEST} characters, for example
  operator: keep the later Job when recovering a replaced run
The area is a package, a directory or a topic in lower case. The rule is in CONTRIBUTING.md."""

_OURS = "# Written by `make hooks` of Kron"
HOOK = f"""\
#!/bin/sh
{_OURS}: refuses a commit message whose subject breaks the rule.
[ -f tools/commits.py ] || exit 0
python=.venv/bin/python
[ -x "$python" ] || python=python3
exec "$python" -m tools.commits --message "$1"
"""

_SHAPE = re.compile(r"[a-z][a-z0-9_./-]*(?:, [a-z][a-z0-9_./-]*)*: (?P<change>\S.*)")
# `git commit --fixup` words these, and a rebase folds them into the commit they are for.
_TO_BE_FOLDED = re.compile(r"(?:fixup|squash|amend)! ")
# The words that most often open a subject that is no imperative. Others pass: only a reader can
# tell a noun from a verb.
_NO_VERBS = re.compile(
    r"an?|the|this|that|these|those|it|they|we|i|you|all|any|each|every|no|one|two|some|many|now"
    r"|then|when|where|while|if|as|at|by|for|from|in|into|of|on|to|with|without"
)
# Imperatives that end like another form of a verb.
_IMPERATIVES = re.compile(r".*(?:ss|eed)|focus|bias|alias|embed|shed|shred|bring|ring|ping|string")
_OTHER_FORM = re.compile(r".*(?:s|ed|ing)")


def problem(subject: str) -> str:
    """What is wrong with the subject of a commit, or nothing."""
    if subject.startswith('Revert "'):
        return ""  # git writes these, too
    if len(subject) > LONGEST:
        return f"{len(subject)} characters, {len(subject) - LONGEST} too many"
    if not (shape := _SHAPE.fullmatch(subject)):
        return "does not start with `area: `"
    word = shape["change"].split()[0].rstrip(",:;.")
    if not word[0].islower() or _NO_VERBS.fullmatch(word):
        return f"{word!r} is not an imperative in lower case"
    if _OTHER_FORM.fullmatch(word) and not _IMPERATIVES.fullmatch(word):
        return f"{word!r} is not an imperative"
    return "ends with a full stop" if subject.endswith(".") else ""


def subject_of(message: str) -> str:
    """The subject as git takes it: the first paragraph without comments, in one line."""
    lines = [line.strip() for line in message.splitlines() if not line.startswith("#")]
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return " ".join(paragraphs[0].split())


def check_message(message: str, *, is_merge: bool) -> str:
    """What is wrong with a message that is about to be committed, or nothing."""
    subject = subject_of(message)
    # git itself refuses an empty message.
    if is_merge or not subject or _TO_BE_FOLDED.match(subject):
        return ""
    return problem(subject)


def check_history(root: Path, base: str) -> tuple[str, list[str]]:
    """Says what was checked, and every commit after `base` whose subject breaks the rule."""
    top = _git(root, "rev-parse", "--show-toplevel")
    if top is None or Path(top.strip()).resolve() != root.resolve():
        return "not a git repository, so not checked", []
    if _git(root, "cat-file", "-e", f"{base}^{{commit}}") is None:
        return f"{base[:12]} is not in this clone, so not checked", []
    log = _git(root, "log", "--no-merges", "--format=%H %s", f"{base}..HEAD")
    if log is None:
        return "git log failed, so not checked", []
    found = []
    for line in log.splitlines():
        commit, _, subject = line.partition(" ")
        if what := problem(subject):
            found.append(f"{commit[:12]} {subject!r}: {what}")
    return f"{len(log.splitlines())} checked", found


def install(root: Path) -> str:
    """Writes the commit-msg hook of a repository. Says why not, if it cannot."""
    if _git(root, "rev-parse", "--git-dir") is None:
        return "not a git repository: no hook to install"
    if path := _git(root, "config", "core.hooksPath"):
        return (
            f"core.hooksPath is {path.strip()!r}: let its commit-msg hook run"
            ' `python3 -m tools.commits --message "$1"`'
        )
    directory = root / (_git(root, "rev-parse", "--git-path", "hooks") or "").strip()
    hook = directory / "commit-msg"
    if hook.exists() and _OURS not in hook.read_text(encoding="utf-8", errors="replace"):
        return f"{hook} exists already: remove it, or let it run `python3 -m tools.commits`"
    directory.mkdir(exist_ok=True)
    hook.write_text(HOOK, encoding="utf-8")
    hook.chmod(0o755)
    return ""


def _git(root: Path, *words: str) -> str | None:
    """What git prints; None if it fails or is not installed."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=False, errors="replace"
        )
    except OSError:
        return None
    return None if done.returncode else done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.commits", description="Check commit subjects.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--message", type=Path, metavar="FILE", help="check this message only")
    choice.add_argument("--install", action="store_true", help="write the commit-msg hook")
    arguments = parser.parse_args()
    if arguments.install:
        if refusal := install(ROOT):
            print(refusal, file=sys.stderr)
        return 1 if refusal else 0
    if arguments.message:
        message = arguments.message.read_text(encoding="utf-8", errors="replace")
        is_merge = _git(Path.cwd(), "rev-parse", "--quiet", "--verify", "MERGE_HEAD") is not None
        what = check_message(message, is_merge=is_merge)
        problems = [f"{subject_of(message)!r}: {what}"] if what else []
    else:
        summary, problems = check_history(ROOT, BASE)
        if not problems:
            print(f"Commits: {summary}.")
    if problems:
        print(*problems, RULE, sep="\n", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
