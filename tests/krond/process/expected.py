"""What tests of processes need of the host, and what they expect of a failed start."""

from __future__ import annotations

import os
import platform
import shutil

import pytest

from kron.krond.process import launched
from kron.krond.process.failure import StartError
from kron.krond.process.launch import Launch, launch
from tests.krond.process.scene import Scene, no_child_is_left, surroundings

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch to another user")

needs_launcher = pytest.mark.skipif(
    not launched.is_there()
    and (shutil.which("cc") is None or platform.machine() not in ("x86_64", "aarch64")),
    reason="there is no C compiler here that could make a launcher",
)


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip where the host lacks one of these."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"there is no {', '.join(missing)} here")


def refused(scene: Scene, what: Launch) -> StartError:
    """The error of a start that fails. It leaves nothing: no process, no proof, no descriptor."""
    had_proof = os.path.lexists(what.proof)
    before = surroundings()
    with pytest.raises(StartError) as caught:
        launch(what)
    assert surroundings() == before
    assert no_child_is_left()
    assert os.path.lexists(what.proof) == had_proof
    assert not (scene.path / "ran").exists()
    assert str(caught.value) == caught.value.reason
    return caught.value
