"""Where no node can run, one line says why; tests/node itself is not even collected there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.node import cgroups, surroundings


def why() -> str:
    return surroundings.why_no_node.__wrapped__()


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert why() == "a node needs root"


def test_missing_packages_are_all_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(surroundings, "PLUGINS", tmp_path)
    assert why() == (
        "a node needs these packages: buildah busybox-static containerd iproute2 mmdebstrap runc"
        " util-linux containernetworking-plugins"
    )


def test_other_cgroups_and_refused_namespaces_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(surroundings, "PLUGINS", tmp_path)
    for name in (*surroundings.PACKAGES, "bridge"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho one >&2\necho operation not permitted >&2\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setattr(cgroups, "ROOT", tmp_path / "cgroups")
    assert "only those of version 2" in why()
    (tmp_path / "cgroups/cpu").mkdir(parents=True)
    (tmp_path / "cgroups/cpu/tasks").touch()
    assert why() == "a node needs namespaces, and: operation not permitted"
