"""The peers: Debian's cron, yacron and supercronic, each in its usual form.

cron and supercronic give every command to /bin/sh, as they always do; yacron and krond need no
shell. cron runs in mounts of its own, so that it sees our jobs and none of this host's.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.krond.moment import MINUTE_S, cron_fields
from bench.krond.peer import Job, Peer, done
from bench.krond.workshop import CACHE, SkippedError

# /etc is a copy in memory, and so are /run and /var/spool: nothing of this host is touched, and
# everything is gone when cron ends. Without a /dev/log nothing is logged, which spares cron work.
_IN_MOUNTS_OF_ITS_OWN = """\
set -e
mount --make-rprivate /
mkdir -p "$1/etc"
mount -t tmpfs -o mode=0755 tmpfs "$1/etc"
cp -a /etc/. "$1/etc"
rm -rf "$1/etc/crontab" "$1/etc/cron.d"
mkdir "$1/etc/cron.d"
[ ! -e "$2/etc/pam.d/cron" ] || cp "$2/etc/pam.d/cron" "$1/etc/pam.d/cron"
cp "$1/crontab" "$1/etc/crontab"
chown 0:0 "$1/etc/crontab"
chmod 0644 "$1/etc/crontab"
mount --bind "$1/etc" /etc
mount -t tmpfs -o mode=0755 tmpfs /var/spool
mkdir -p /var/spool/cron/crontabs
mount -t tmpfs -o mode=0755 tmpfs /run
exec "$3" -f
"""


class Cron(Peer):
    """Debian's cron, the host's own or unpacked from its package."""

    name = "cron"
    lead_s = 5
    idle_jobs = 10_000

    def __init__(self) -> None:
        self._package = CACHE / "cron"

    def obtain(self) -> str:
        """Of the package that apt would install; it is only unpacked."""
        if os.geteuid() != 0:
            raise SkippedError("cron in mounts of its own needs root")
        for tool in ("unshare", "mount", "apt-get", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise SkippedError(f"there is no {tool}")
        if not self._program().exists():
            self._package.mkdir(parents=True, exist_ok=True)
            script = 'cd "$1" && apt-get -q download cron && dpkg-deb -x cron_*.deb .'
            done(["sh", "-c", script, "sh", str(self._package)], "cron cannot be downloaded")
        done(["unshare", "--mount", "true"], "private mounts cannot be had")
        deb = next(self._package.glob("cron_*.deb"))
        return done(["dpkg-deb", "-f", str(deb), "Version"], "cron's package does not read")

    def command(self, place: Path, jobs: Sequence[Job]) -> list[str]:
        """An /etc/crontab."""
        lines = [f"{cron_fields(job.due_s)} root {shlex.join(job.argv)}\n" for job in jobs]
        (place / "crontab").write_text("".join(lines))
        inside = ["sh", "-c", _IN_MOUNTS_OF_ITS_OWN, "sh"]
        return ["unshare", "--mount", *inside, str(place), str(self._package), str(self._program())]

    def _program(self) -> Path:
        return self._package / "usr" / "sbin" / "cron"


class Yacron(Peer):
    """yacron, from its package, in an environment of its own."""

    name = "yacron"
    lead_s = 25  # reading a thousand jobs takes it a while
    idle_jobs = 1_000  # and with ten thousand it is not ready after five minutes

    def __init__(self) -> None:
        self._python = CACHE / "yacron" / "bin" / "python"

    def obtain(self) -> str:
        """The newest one."""
        if not self._python.with_name("yacron").exists():
            place = str(self._python.parents[1])
            done([sys.executable, "-m", "venv", "--clear", place], "no environment for yacron")
            pip = [str(self._python), "-m", "pip", "install", "--quiet", "--no-input", "yacron"]
            done([*pip, "--disable-pip-version-check"], "yacron cannot be installed")
        version = "from importlib.metadata import version; print(version('yacron'))"
        return done([str(self._python), "-c", version], "yacron does not run")

    def command(self, place: Path, jobs: Sequence[Job]) -> list[str]:
        """YAML; nothing is captured, and UTC is its default."""
        text = ["defaults:\n  captureStderr: false\n  captureStdout: false\njobs:\n"]
        for number, job in enumerate(jobs):
            words = "".join(f"      - '{word}'\n" for word in job.argv)
            schedule = cron_fields(job.due_s)
            text.append(
                f"  - name: job-{number}\n    command:\n{words}    schedule: '{schedule}'\n"
            )
        file = place / "yacron.yaml"
        file.write_text("".join(text))
        return [str(self._python.with_name("yacron")), "-c", str(file)]


class Supercronic(Peer):
    """supercronic, compiled from its source where Go is installed."""

    name = "supercronic"
    lead_s = 5
    needs_whole_minute = False
    idle_jobs = 10_000

    def __init__(self) -> None:
        self._program = CACHE / "supercronic" / "supercronic"

    def obtain(self) -> str:
        """The newest one."""
        go = shutil.which("go")
        if not self._program.exists():
            if go is None:
                raise SkippedError("there is no Go to compile supercronic with")
            place = self._program.parent
            place.mkdir(parents=True, exist_ok=True)
            done(
                [go, "install", "github.com/aptible/supercronic@latest"],
                "supercronic cannot be compiled",
                GOBIN=str(place),
                GOPATH=str(place / "go"),
                GOCACHE=str(place / "cache"),
                GOFLAGS="-buildvcs=false -modcacherw",
            )
            shutil.rmtree(place / "go", ignore_errors=True)
            shutil.rmtree(place / "cache", ignore_errors=True)
        if go is None:
            return ""
        module_lines = done([go, "version", "-m", str(self._program)], "supercronic's version")
        modules = [line.split() for line in module_lines.splitlines() if line.split()[0] == "mod"]
        return modules[0][2] if modules else ""

    def command(self, place: Path, jobs: Sequence[Job]) -> list[str]:
        """A crontab; with seconds it has seven fields."""
        file = place / "crontab"
        file.write_text(
            "".join(f"{_with_seconds(job.due_s)} {shlex.join(job.argv)}\n" for job in jobs)
        )
        return [str(self._program), str(file)]


def _with_seconds(due_s: int) -> str:
    return f"{due_s % MINUTE_S} {cron_fields(due_s)} *"


PEERS: tuple[Peer, ...] = (Supercronic(), Cron(), Yacron())
"""Those that need not wait for a whole minute first."""
