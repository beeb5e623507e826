"""What the command can show: `make demo` runs this after the engine's part.

Every line printed by `krontab` is printed by the real command, in a directory of its own that is
gone afterwards.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ
STORM = "".join(
    f"0 0 * * * /opt/app/bin/{name}\n"
    for name in ("backup --all", "rotate-logs", "report", "cleanup", "sync-users", "billing")
)
SCENES = (
    ("A crontab, and its midnight", "cat storm.crontab", ""),
    (
        "Carried over as it is",
        "krontab import storm.crontab --tz UTC --no-environment",
        "before.kron",
    ),
    ("What is wrong with it", "krontab lint --file before.kron --no-host", ""),
    (
        "Spread out",
        "krontab import storm.crontab --tz UTC --no-environment --spread auto",
        "after.kron",
    ),
    ("What that will change", "krontab diff before.kron after.kron --days 1", ""),
    ("The next runs", "krontab list --file after.kron", ""),
    ("Why then", "krontab explain backup --file after.kron", ""),
    ("A week at a glance", "krontab heatmap --file after.kron", ""),
    (
        "Or in plain words",
        "krontab fuzzy scatter 'daily around 14:00 utc+9' --id acme/app/ci.md",
        "",
    ),
    (
        "And a mistake",
        "krontab add --file after.kron --name Tidy --schedule '5/10 25 * * *' -- /opt/app/bin/tidy",
        "",
    ),
)


def main() -> None:
    """The scenes, one after another."""
    with TemporaryDirectory(prefix="kron-demo-") as directory:
        place = Path(directory)
        (place / "storm.crontab").write_text(STORM)
        for title, command, target in SCENES:
            show(title, command, target, place)


def show(title: str, command: str, target: str, place: Path) -> None:
    """Run a command, say which, and show what it prints; what goes to a file is shown too."""
    print(f"\n{paint(title, '1;36')}")
    print(paint(f"$ {command}{f' > {target}' if target else ''}", "2"), flush=True)
    words = shlex.split(command)
    if words[0] == "krontab":
        words = [sys.executable, "-m", "kron.krontab", *words[1:]]
    done = subprocess.run(words, cwd=place, capture_output=bool(target), text=True, check=False)
    if target:
        (place / target).write_text(done.stdout)
        (place / target).chmod(0o600)
        print("".join(done.stdout.splitlines(keepends=True)[:2]) + "...", flush=True)


def paint(text: str, code: str) -> str:
    """`text` in a colour, on a terminal."""
    return f"\x1b[{code}m{text}\x1b[0m" if COLOURS else text


if __name__ == "__main__":
    main()
