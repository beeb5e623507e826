"""What one program leaves to the next, and what the next one says before."""

from __future__ import annotations

import os

import pytest

from kron.krond.handover import VARIABLE, Handover, HeldCapture, HeldCollector, HeldRun
from kron.krond.upgrade.trial import Fitness


def handover(*descriptors: int) -> Handover:
    state_dir, state_lock, pid_file, control, client, end, its_end, pipe, unsent = descriptors
    return Handover(
        version="1.0.0",
        awake_s=1_000,
        since_ns=5,
        open_files=(1024, 4096),
        state_dir=state_dir,
        state_lock=state_lock,
        pid_file=pid_file,
        control=control,
        clients=[(client, "upgrade")],
        runs={"abc": HeldRun(7, 3, "timed out after 1s")},
        collectors=[HeldCollector(8, [end, its_end], [HeldCapture("[]", [pipe], is_over=False)])],
        unsent=[HeldCapture("[]", [unsent], is_over=True)],
        helpers=[9],
    )


def test_a_handover_arrives_as_it_was_left_and_no_child_inherits_it() -> None:
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(9)]
    left = handover(*opened)
    for descriptor in left.descriptors():
        os.set_inheritable(descriptor, True)
    value, file = left.put()
    environment = {VARIABLE: value, "HOME": "/"}
    taken = Handover.take(environment)
    assert taken is not None
    assert taken.packed() == left.packed()
    assert (taken.runs, taken.open_files) == (left.runs, left.open_files)
    assert sorted(taken.descriptors()) == sorted(opened)
    assert not any(map(os.get_inheritable, opened))
    assert environment == {"HOME": "/"}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)
    for descriptor in opened:
        os.close(descriptor)


@pytest.mark.parametrize("value", ["", "3", f"3 {os.getppid()}"])
def test_what_was_left_to_another_process_is_not_taken(value: str) -> None:
    assert Handover.take({VARIABLE: value}) is None


def test_that_a_program_is_fit_is_its_last_line_after_warnings() -> None:
    fitness = Fitness("2.0.0")
    said = f"krond: warning: something\n{fitness.packed()}\n".encode()
    assert Fitness.unpacked(said) == fitness


@pytest.mark.parametrize("said", [b"", b"ok", b"[]", b"{}", b'{"more": "2"}', b"\xff", b"[" * 9999])
def test_anything_else_does_not_say_so(said: bytes) -> None:
    with pytest.raises(ValueError, match="does not say that it is fit"):
        Fitness.unpacked(said)
