"""docs/json.md: its examples are run, and what they print stands below them.

`python -m tests.krontab.json_page` writes the page anew after a change; a test fails when it is
forgotten. A block with a title is a file of that name in /etc/krond.d; the log is made here.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path

from kron.krontab.program import KRONTAB
from kron.kube.kronctl.program import KRONCTL
from tests.krontab.command import Krontab
from tests.krontab.files import log

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
PLACE = "/etc/krond.d"
"""Where the page says that it is; tests are elsewhere."""

_FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"^```sh\n([^`]*?)\n```\n\n```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: str) -> list[tuple[str, str]]:
    """Each command of the page, and the JSON that it shows below it."""
    return _EXAMPLE.findall(page)


def prepare(krontab: Krontab, page: str) -> None:
    """Make the files that the page's examples are about."""
    for name, text in _FILE.findall(page):
        krontab.write(name, text)
    krontab.write("krond.log", log(chosen="2026-03-01T02:32:21Z"))


def output(krontab: Krontab, command: str) -> str:
    """What a command of the page prints, as if it ran where the page says."""
    place = str(krontab.directory)
    name, *words = shlex.split(command.replace("\\\n", " ").replace(PLACE, place))
    krontab.program = {"krontab": KRONTAB, "kronctl": KRONCTL}[name]
    return krontab(*words).out.replace(place, PLACE)


def rewritten(krontab: Krontab, page: str) -> str:
    """The page as it must be."""
    prepare(krontab, page)

    def replaced(example: re.Match[str]) -> str:
        return f"```sh\n{example[1]}\n```\n\n```json\n{output(krontab, example[1])}```"

    return _EXAMPLE.sub(replaced, page)


def main() -> None:
    """Write the page anew."""
    with tempfile.TemporaryDirectory() as directory:
        krontab = Krontab(Path(directory))
        PAGE.write_text(rewritten(krontab, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
