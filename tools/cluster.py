"""The control plane that the tests in tests/cluster run against: where it is, and how it is built.

`make cluster` builds four programs from the Go module in tests/cluster/controlplane, once, into a
cache outside the tree. Another version of the sources or of Go has another directory there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

MODULE = Path(__file__).parent.parent / "tests/cluster/controlplane"
SOURCES = ("go.mod", "go.sum", "tools.go")
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
OVERRIDE = "KRON_CONTROLPLANE"
"""An environment variable: the directory that holds the four programs, however they were built."""
HINT = "run 'make cluster' (once; about nine minutes, needs Go)"

_SAY_EVERY_S = 30.0


class UnavailableError(Exception):
    """The control plane cannot be found or built; the text says why and what to do."""


def find() -> Path:
    """The directory with the four programs; UnavailableError if they are not built."""
    try:
        directory = place()
    except UnavailableError as error:
        raise UnavailableError(f"{error}; then {HINT}") from None
    missing = [name for name in PROGRAMS if not os.access(directory / name, os.X_OK)]
    if not missing:
        return directory
    if os.environ.get(OVERRIDE):
        raise UnavailableError(f"{OVERRIDE}={directory} has no {', '.join(missing)}")
    raise UnavailableError(f"the control plane is not built: {HINT}")


def place() -> Path:
    """Where the programs are, or would be once they are built."""
    if override := os.environ.get(OVERRIDE):
        return Path(override)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update((MODULE / name).read_bytes())
    digest.update(go_version().encode())
    return cache / "kron/controlplane" / digest.hexdigest()[:12] / "bin"


def go_version() -> str:
    """What `go version` says; UnavailableError if there is no Go or one that is too old."""
    needed = re.search(r"^go (\d+)\.(\d+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    assert needed is not None
    wanted = f"Go {needed[1]}.{needed[2]} or later is needed to build the control plane"
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


def build(target: Path) -> None:
    """Build all four beside `target` and rename, so that the target is always complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("cluster: someone else is building it; waiting ...", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return
        for left in target.parent.glob("bin.tmp*"):  # of a build that was killed
            shutil.rmtree(left)
        print(
            f"cluster: building a Kubernetes control plane into {target}\n"
            "cluster: once, about nine minutes on two cores (1.1 GB of Go modules first); if it "
            "is interrupted, the next time goes on from there",
            flush=True,
        )
        began_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="bin.tmp", dir=target.parent) as temporary:
            made = Path(temporary, "made")
            made.mkdir()
            for number, (name, package) in enumerate(PROGRAMS.items(), 1):
                _build_one(f"[{number}/{len(PROGRAMS)}] {name}", package, made / name)
            made.rename(target)
        print(f"cluster: built in {_elapsed(began_s)}", flush=True)


def _build_one(title: str, package: str, output: Path) -> None:
    print(f"cluster: {title} ...", flush=True)
    began_s = time.monotonic()
    words = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(output), package]
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, cwd=MODULE, env=environment, stdout=said, stderr=said)
        try:
            while (code := _wait(process, _SAY_EVERY_S)) is None:
                print(f"cluster: {title} ... {_elapsed(began_s)}", flush=True)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if code != 0:
            said.seek(0)
            text = said.read().decode(errors="replace").strip()
            raise UnavailableError(f"{title}: '{' '.join(words)}' in {MODULE} failed:\n{text}")
    print(f"cluster: {title} done in {_elapsed(began_s)}", flush=True)


def _wait(process: subprocess.Popen[bytes], patience_s: float) -> int | None:
    try:
        return process.wait(patience_s)
    except subprocess.TimeoutExpired:
        return None


def _elapsed(began_s: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - began_s), 60)
    return f"{minutes}m{seconds:02}s" if minutes else f"{seconds}s"


def main(words: Sequence[str] = ()) -> int:
    """`make cluster`."""
    try:
        target = place()
        if not os.environ.get(OVERRIDE) and not target.exists():
            build(target)
        print(f"cluster: the control plane is built, in {find()}")
    except UnavailableError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\ncluster: interrupted; the next time goes on from Go's build cache", file=sys.stderr
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
