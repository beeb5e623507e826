"""The programs of a Go module: where they are, and how they are built, once.

They go into a cache outside the tree. Another version of the sources or of Go has another directory
there, so nothing is built again that is there already.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from kron.core.frozen import Frozen
from tools.cache import UnavailableError, alone, cache, elapsed

SOURCES = ("go.mod", "go.sum", "tools.go")
_SAY_EVERY_S = 30.0


class Programs(Frozen):
    """Those of one module, which are built and found together."""

    title: str
    """What they are, for people: 'the control plane'."""
    module: Path
    packages: dict[str, str]
    """The Go package of each program."""
    override: str
    """An environment variable: the directory that holds the programs, however they were built."""
    hint: str
    """How to get them."""
    takes: str
    """How long they take to build, for people."""

    def find(self) -> Path:
        """The directory with the programs; UnavailableError if they are not built."""
        try:
            directory = self.place()
        except UnavailableError as error:
            raise UnavailableError(f"{error}; then {self.hint}") from None
        missing = [name for name in self.packages if not os.access(directory / name, os.X_OK)]
        if not missing:
            return directory
        if os.environ.get(self.override):
            raise UnavailableError(f"{self.override}={directory} has no {', '.join(missing)}")
        raise UnavailableError(f"{self.title} is not built: {self.hint}")

    def place(self) -> Path:
        """Where the programs are, or would be once they are built."""
        if override := os.environ.get(self.override):
            return Path(override)
        digest = hashlib.sha256()
        for name in SOURCES:
            digest.update((self.module / name).read_bytes())
        digest.update(f"{self.go_version()}{self._stamp()}".encode())
        return cache() / self.module.name / digest.hexdigest()[:12] / "bin"

    def go_version(self) -> str:
        """What `go version` says; UnavailableError if there is no Go or one that is too old."""
        needed = re.search(r"^go (\d+)\.(\d+)", (self.module / "go.mod").read_text(), re.MULTILINE)
        assert needed is not None
        wanted = f"Go {needed[1]}.{needed[2]} or later is needed to build {self.title}"
        go = shutil.which("go")
        if go is None:
            raise UnavailableError(f"{wanted}, and there is no 'go' on PATH")
        # The Go that is here, not one that it would fetch without being asked to.
        environment = {**os.environ, "GOTOOLCHAIN": "local"}
        answer = subprocess.run(
            [go, "version"], env=environment, capture_output=True, text=True, check=False
        )
        said = (answer.stdout or answer.stderr).strip()
        found = re.search(r"\bgo(\d+)\.(\d+)", answer.stdout)
        if found is None:
            raise UnavailableError(f"{wanted}, and '{go} version' says: {said}")
        if (int(found[1]), int(found[2])) < (int(needed[1]), int(needed[2])):
            raise UnavailableError(f"{wanted}, and {go} is too old: {said}")
        return said

    def _stamp(self) -> str:
        """For the linker: which Kubernetes it is, else the programs say v0.0.0, and Helm believes
        that. '' if the module is about something else."""
        text = (self.module / "go.mod").read_text()
        found = re.search(r"^(?:require|\t)\s*k8s\.io/kubernetes v(\d+)\.(\d+)\.\d+$", text, re.M)
        if found is None:
            return ""
        facts = {
            "gitVersion": found[0].split()[-1],
            "gitMajor": found[1],
            "gitMinor": found[2],
        }
        package = "k8s.io/component-base/version"
        return "".join(f" -X {package}.{name}={value}" for name, value in facts.items())

    def build(self) -> None:
        """Build them where they are to be found, unless they are there already."""
        target = self.place()
        if os.environ.get(self.override) or target.exists():
            return
        with alone(target.parent, f"cluster: someone else is building {self.title}"):
            if not target.exists():
                self._build(target)

    def _build(self, target: Path) -> None:
        """Build all of them beside `target` and rename, so that the target is always complete."""
        for left in target.parent.glob("bin.tmp*"):  # of a build that was killed
            shutil.rmtree(left)
        print(
            f"cluster: building {self.title} into {target}\n"
            f"cluster: once, {self.takes}; if it is interrupted, the next time goes on from there",
            flush=True,
        )
        began_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="bin.tmp", dir=target.parent) as temporary:
            made = Path(temporary, "made")
            made.mkdir()
            for number, (name, package) in enumerate(self.packages.items(), 1):
                self._build_one(f"[{number}/{len(self.packages)}] {name}", package, made / name)
            made.rename(target)
        print(f"cluster: built in {elapsed(began_s)}", flush=True)

    def _build_one(self, title: str, package: str, output: Path) -> None:
        print(f"cluster: {title} ...", flush=True)
        began_s = time.monotonic()
        flags = f"-ldflags=-s -w{self._stamp()}"
        words = ["go", "build", "-trimpath", flags, "-o", str(output), package]
        environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                words, cwd=self.module, env=environment, stdout=said, stderr=said
            )
            try:
                while (code := _wait(process, _SAY_EVERY_S)) is None:
                    print(f"cluster: {title} ... {elapsed(began_s)}", flush=True)
            except BaseException:
                process.terminate()
                process.wait()
                raise
            if code != 0:
                said.seek(0)
                text = said.read().decode(errors="replace").strip()
                command = " ".join(words)
                raise UnavailableError(f"{title}: '{command}' in {self.module} failed:\n{text}")
        print(f"cluster: {title} done in {elapsed(began_s)}", flush=True)


def _wait(process: subprocess.Popen[bytes], patience_s: float) -> int | None:
    try:
        return process.wait(patience_s)
    except subprocess.TimeoutExpired:
        return None
