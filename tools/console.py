"""Pages with commands in them: runs every `$ command` of a page's console blocks and writes its
output below it.

A block with a title is a file of that name. `make reference` runs the pages again; a test fails
when a page shows other output than its commands print.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = {ROOT / "docs/tutorial.md": Path("/tmp/kron-tutorial")}
"""Each page and the directory that it is run in: identities, and so times, follow from it."""

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def rerun(page: Path, directory: Path) -> str:
    """The page as it must be, its commands run in an empty directory."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o755)
    try:

        def replaced(block: re.Match[str]) -> str:
            language, title, content = block.groups()
            if title:
                (directory / title).write_text(content, encoding="utf-8")
            if language != "console":
                return block[0]
            return f"```console\n{_rerun_block(content, directory)}```"

        return _BLOCK.sub(replaced, page.read_text(encoding="utf-8"))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _rerun_block(content: str, directory: Path) -> str:
    commands = [line[2:] for line in content.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{_output(command, directory)}" for command in commands)


def _output(command: str, directory: Path) -> str:
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(directory),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        ["/bin/sh", "-c", f"umask 022; {command}"],
        cwd=directory,
        env=environment | {"TMPDIR": os.environ.get("TMPDIR", "/tmp")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    return done.stdout.decode()


if __name__ == "__main__":
    for path, place in PAGES.items():
        path.write_text(rerun(path, place), encoding="utf-8")
