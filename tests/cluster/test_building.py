"""`make cluster` with a Go that builds in no time: what it says, and what is there afterwards."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.controlplane import ROOT
from tools.cache import UnavailableError
from tools.cluster import ALL, CONTROLPLANE, HELM, KUBELET

OVERRIDE = CONTROLPLANE.override

GO = """#!{python}
import os, pathlib, sys
if sys.argv[1] == "version":
    print("go version go{version} linux/amd64")
elif sys.argv[-1].endswith(os.environ.get("FAILS", "/none")):
    print("no space left on device", file=sys.stderr)
    sys.exit(1)
else:
    target = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
    target.write_text(" ".join(sys.argv[1:]))
    target.chmod(0o755)
"""


@pytest.fixture
def go(tmp_path: Path) -> Path:
    return install_go(tmp_path, "1.99.1")


def install_go(directory: Path, version: str) -> Path:
    program = directory / "path/go"
    program.parent.mkdir(exist_ok=True)
    program.write_text(GO.format(python=sys.executable, version=version))
    program.chmod(0o755)
    return program


def make_cluster(directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(directory / "path"), "XDG_CACHE_HOME": str(directory / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "tools.cluster"],
        cwd=ROOT,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def built(directory: Path, module: str = "controlplane") -> list[Path]:
    """The directories of a module's programs: complete ones and those that are under way."""
    return list((directory / "cache").glob(f"kron/{module}/*/bin*"))


def test_it_builds_all_programs_and_says_which_and_for_how_long(go: Path, tmp_path: Path) -> None:
    made = make_cluster(tmp_path)
    assert made.returncode == 0, made.stderr
    for programs in ALL:
        count = len(programs.packages)
        for number, name in enumerate(programs.packages, 1):
            step = f"cluster: [{number}/{count}] {name}"
            assert f"{step} ...\n" in made.stdout
            assert re.search(rf"^{re.escape(step)} done in \d+s$", made.stdout, re.M)
        [directory] = built(tmp_path, programs.module.name)
        assert {program.name for program in directory.iterdir()} == set(programs.packages)
        is_kubernetes = programs is not HELM
        for name in programs.packages:
            asked = (directory / name).read_text()
            assert "build -trimpath -ldflags=-s -w" in asked
            assert (".gitVersion=v1." in asked) is is_kubernetes, "or it says v0.0.0"


def test_it_does_nothing_when_they_are_there(go: Path, tmp_path: Path) -> None:
    make_cluster(tmp_path)
    directories = [built(tmp_path, programs.module.name)[0] for programs in ALL]
    again = make_cluster(tmp_path, FAILS="")
    assert again.stdout.splitlines() == [
        f"cluster: {programs.title} is built, in {directory}"
        for programs, directory in zip(ALL, directories, strict=True)
    ]
    assert (again.returncode, again.stderr) == (0, "")


def test_another_go_builds_its_own(go: Path, tmp_path: Path) -> None:
    make_cluster(tmp_path)
    install_go(tmp_path, "1.99.2")
    make_cluster(tmp_path)
    assert len(built(tmp_path)) == 2


def test_a_build_that_fails_leaves_nothing_half_done(go: Path, tmp_path: Path) -> None:
    failed = make_cluster(tmp_path, FAILS="/kubectl")
    assert failed.returncode == 1
    assert "[4/4] kubectl: 'go build" in failed.stderr
    assert "no space left on device" in failed.stderr
    assert built(tmp_path) == []
    assert make_cluster(tmp_path).returncode == 0


def test_what_was_built_before_a_failure_stays(go: Path, tmp_path: Path) -> None:
    assert make_cluster(tmp_path, FAILS="/kubelet").returncode == 1
    [directory] = built(tmp_path)
    assert built(tmp_path, KUBELET.module.name) == built(tmp_path, HELM.module.name) == []
    again = make_cluster(tmp_path)
    assert again.stdout.startswith(f"cluster: the control plane is built, in {directory}\n")
    assert again.returncode == 0


def test_all_are_built_for_the_same_kubernetes() -> None:
    pinned = [(programs.module / "go.mod").read_text() for programs in ALL]
    versions = [re.findall(r"k8s.io/api => k8s.io/api (\S+)", text) for text in pinned]
    assert versions == [versions[0]] * len(ALL)
    assert len(versions[0]) == 1


def test_what_a_killed_build_left_is_removed(go: Path, tmp_path: Path) -> None:
    make_cluster(tmp_path)
    [directory] = built(tmp_path)
    directory.rename(directory.with_name("bin.tmp1234"))
    assert make_cluster(tmp_path).returncode == 0
    assert built(tmp_path) == [directory]


def test_without_go_it_says_what_is_needed(tmp_path: Path) -> None:
    made = make_cluster(tmp_path)
    assert made.returncode == 1
    needs = "cluster: Go 1.25 or later is needed to build the control plane"
    assert made.stderr == f"{needs}, and there is no 'go' on PATH\n"


def test_a_go_that_is_too_old_is_named(tmp_path: Path) -> None:
    program = install_go(tmp_path, "1.19.8")
    made = make_cluster(tmp_path)
    assert made.returncode == 1
    assert f"{program} is too old: go version go1.19.8" in made.stderr


def test_a_directory_of_ones_own_must_hold_all_four(tmp_path: Path) -> None:
    made = make_cluster(tmp_path, **{OVERRIDE: str(tmp_path)})
    assert made.returncode == 1
    assert (
        made.stderr == f"cluster: {OVERRIDE}={tmp_path} has no {', '.join(CONTROLPLANE.packages)}\n"
    )


@pytest.mark.parametrize("workers", [pytest.param("0", id="alone"), pytest.param("2", id="xdist")])
def test_without_a_control_plane_one_line_says_what_was_not_run(
    tmp_path: Path, workers: str
) -> None:
    # A directory of tests like ours with the same conftest.py: ours would take minutes. It has its
    # own --basetemp, since a run without one removes what older runs left, for minutes as well.
    shutil.copy(ROOT / "tests/conftest.py", tmp_path / "conftest.py")
    for name in ("cluster", "node"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text("def test_it(): raise AssertionError\n")
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *(f"-n{workers}", "--basetemp=base"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), OVERRIDE: str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    said = [line for line in done.stdout.splitlines() if " was not run: " in line]
    assert [line.partition(":")[0] for line in said] == [
        "tests/cluster was not run",
        "tests/node was not run",
    ]
    assert f"{OVERRIDE}=" in said[0]
    assert "1 passed" in done.stdout


def test_what_is_not_built_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(OVERRIDE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    with pytest.raises(UnavailableError, match="there is no 'go' on PATH; then run 'make cluster'"):
        CONTROLPLANE.find()
    install_go(tmp_path, "1.99.1")
    with pytest.raises(UnavailableError, match="is not built: run 'make cluster'"):
        CONTROLPLANE.find()
