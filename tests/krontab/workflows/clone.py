"""A real git repository with workflow files, and `krontab fuzzy compile` in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from tests.krontab.command import AT, Krontab, Ran

SLUG = "octo/tools"
URL = f"https://github.com/{SLUG}.git"


class Clone:
    """A clone of octo/tools, in the directory of a krontab."""

    def __init__(self, krontab: Krontab, url: str = URL) -> None:
        self.krontab = krontab
        self.root = krontab.directory
        self.git("init", "--quiet")
        self.git("remote", "add", "origin", url)

    def git(self, *words: str, directory: Path | None = None, given: str = "") -> str:
        """Run git, whatever the configuration of this host and its user."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.krontab.home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        }
        ran = subprocess.run(
            ["git", *words],
            cwd=directory or self.root,
            env=environment,
            input=given.encode(),
            check=True,
            capture_output=True,
        )
        return ran.stdout.decode()

    def write(self, name: str, text: str | bytes) -> Path:
        """Make a file below the root."""
        return Path(self.krontab.write(name, text))

    def compile(self, *words: str) -> Ran:
        """Run the command; without paths, on the whole clone."""
        return self.krontab("fuzzy", "compile", "--at", AT, *words)

    def compiled(self, name: str, text: str) -> str:
        """What a file holds after `--write`, which has to go well."""
        path = self.write(name, text)
        ran = self.compile("--write", name)
        assert ran.code == 0, ran
        return path.read_bytes().decode()

    def document(self, *words: str) -> Any:
        """What the command says as JSON."""
        return self.compile("--format", "json", *words).json

    def findings(self, name: str, text: str | bytes) -> list[tuple[str, int | None, int | None]]:
        """The code, line and column of everything that is said about a file."""
        self.write(name, text)
        return [
            (each["code"], each["line"], each["column"]) for each in self.document(name)["findings"]
        ]
