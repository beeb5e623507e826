"""The state directory: commits survive, hostile files are set aside, no other user gets in."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kron.core.errors import Code, KronError
from kron.engine.ledger import MAX_HANDLED
from kron.krond.state import file_replacer as replacer_module
from kron.krond.state.directory import Directory
from kron.krond.state.errors import PersistenceError, StateCorrupt, StateNewer
from kron.krond.state.fields import MAX_BYTES
from kron.krond.state.file_replacer import FEW
from kron.krond.state.record import JobState, RunRecord
from kron.krond.state.schema import from_json, to_json
from kron.krond.state.store import StateStore, file_name
from tests.krond.state.states import BOOT, number_of, state
from tests.krond.state.test_faults import temporaries

IDENTITY = state().identity
NAME = file_name(IDENTITY)
NOBODY = 65_534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="changing owners needs root")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "lib" / "krond"


@pytest.fixture
def store(directory: Path) -> Iterator[StateStore]:
    opened = StateStore.open(str(directory))
    yield opened
    opened.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.mark.parametrize("count", [1, FEW - 1, FEW, 3 * FEW])
def test_what_is_committed_is_loaded(store: StateStore, directory: Path, count: int) -> None:
    store.commit([state(f"job-{job}", 1) for job in range(count)])
    states = [state(f"job-{job}", 2) for job in range(count)]
    store.commit(states)
    assert [store.load(value.identity) for value in states] == states
    store.write_back()
    assert sorted(os.listdir(directory)) == sorted(  # noqa: PTH208
        ["ballast", "krond.pid", "runs", *(file_name(value.identity) for value in states)]
    )
    assert store.load_all().states == {value.identity: value for value in states}


def test_a_job_never_seen_has_no_state(store: StateStore) -> None:
    assert store.load(IDENTITY) is None
    assert store.load_all().states == {}


def test_committing_nothing_touches_nothing(store: StateStore, directory: Path) -> None:
    store.commit([])
    assert sorted(os.listdir(directory)) == ["ballast", "krond.pid", "runs"]  # noqa: PTH208


@pytest.mark.parametrize("count", [1, FEW])
def test_of_two_states_of_a_job_the_later_one_stays(store: StateStore, count: int) -> None:
    store.commit([state(number=1)] * count + [state(number=2)])
    assert store.load(IDENTITY) == state(number=2)


def test_a_full_ledger_is_read_again_and_a_file_that_could_not_be_is_not_written(
    store: StateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = state(padding=MAX_HANDLED)
    store.commit([full])
    assert store.load(IDENTITY) == full
    monkeypatch.setattr("kron.krond.state.store.MAX_BYTES", 100)
    with pytest.raises(PersistenceError, match="File too large"):
        store.commit([state("small"), state(number=1, padding=MAX_HANDLED)])
    assert store.load(IDENTITY) == full


def test_files_and_directories_are_closed_to_others(store: StateStore, directory: Path) -> None:
    store.commit([state()])
    store.note_run(RunRecord("run", None, None, None, 5, 7, BOOT))
    modes = {
        str(path.relative_to(directory)): stat.S_IMODE(path.stat().st_mode)
        for path in [directory, *directory.rglob("*")]
    }
    assert modes == {
        ".": 0o700,
        "ballast": 0o600,
        "krond.pid": 0o600,
        "runs": 0o700,
        "runs/run": 0o600,
        NAME: 0o600,
    }


def test_many_replaced_files_stay_until_settled_and_no_descriptor_is_used_for_it(
    store: StateStore, directory: Path
) -> None:
    before = descriptors()
    states = [state(f"job-{job}") for job in range(60)]
    store.commit(states)
    assert temporaries(directory) == []  # nothing was replaced
    store.commit(states)
    store.commit(states[:1])
    assert len(temporaries(directory)) == 60
    assert descriptors() == before
    store.write_back()
    assert temporaries(directory) == []


@pytest.mark.parametrize("lacks", ["the kernel", "the file system", "the C library"])
def test_where_files_cannot_exchange_their_names_they_are_renamed(
    directory: Path, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    def refuse(*_: object) -> int:
        ctypes.set_errno(errno.ENOSYS if lacks == "the kernel" else errno.EINVAL)
        return -1

    store = StateStore.open(str(directory))
    renameat2 = None if lacks == "the C library" else refuse
    monkeypatch.setattr(store._replacer, "_renameat2", renameat2)
    for number in (1, 2):
        store.commit([state(f"job-{job}", number) for job in range(FEW)])
    assert temporaries(directory) == []
    assert {found.ledger for found in store.load_all().states.values()} == {state(number=2).ledger}
    store.close()


def test_without_descriptors_a_commit_fails_and_leaves_the_old_states(store: StateStore) -> None:
    store.commit([state(number=1)])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(PersistenceError, match="Too many open files"):
            store.commit([state(number=2)])
        with pytest.raises(KronError, match="Too many open files"):
            store.load(IDENTITY)  # which is not the file's fault
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert store.load(IDENTITY) == state(number=1)


def test_on_a_kernel_whose_syncfs_tells_nothing_each_file_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacer_module, "kernel_version", lambda: (5, 7))
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    store = StateStore.open(str(tmp_path / "state"))
    synced.clear()
    store.commit([state(f"job-{job}") for job in range(3 * FEW)])
    assert len(synced) == 3 * FEW + 1
    store.close()


def test_the_version_of_the_kernel_is_read() -> None:
    assert replacer_module.kernel_version() >= (3, 0)


def make_symlink(path: Path) -> None:
    target = path.with_name("elsewhere")
    target.write_bytes(to_json(state()))
    path.symlink_to(target)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()  # noqa: PTH109
        os.chdir(path.parent)  # the path itself may be too long for a socket
        try:
            bound.bind(path.name)
        finally:
            os.chdir(here)


def make_sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 30)


def with_mode(mode: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(to_json(state()))
        path.chmod(mode)

    return make


def make_foreign(path: Path) -> None:
    path.write_bytes(to_json(state()))
    path.chmod(0o600)
    os.chown(path, NOBODY, NOBODY)


def with_bytes(data: bytes) -> Callable[[Path], None]:
    return lambda path: (path.write_bytes(data), None)[1]


HOSTILE = [
    pytest.param(with_bytes(b""), "it is not JSON", id="empty"),
    pytest.param(with_bytes(b"\xff" * 100), "it is not UTF-8", id="binary"),
    pytest.param(with_bytes(b"[" * 90_000), "nested too deeply", id="deep"),
    pytest.param(
        with_bytes(to_json(state("other"))), 'it belongs to the job "/etc', id="another-job"
    ),
    pytest.param(make_symlink, "it is a symbolic link", id="symlink"),
    pytest.param(lambda path: path.symlink_to("nowhere"), "symbolic link", id="dangling-link"),
    pytest.param(lambda path: path.symlink_to("/dev/zero"), "symbolic link", id="link-to-zero"),
    pytest.param(lambda path: os.mkfifo(path, 0o600), "it is not a regular file", id="fifo"),
    pytest.param(make_socket, "it is a socket", id="socket"),
    pytest.param(lambda path: path.mkdir(), "it is not a regular file", id="directory"),
    pytest.param(
        lambda path: (path / "inside").mkdir(parents=True), "not a regular", id="full-directory"
    ),
    pytest.param(make_sparse, "it has 1,073,741,824 bytes", id="a-gigabyte"),
    pytest.param(with_mode(0o666), "other users can write it (its mode is 0666)", id="writable"),
    pytest.param(
        with_mode(0o620), "other users can write it (its mode is 0620)", id="group-writable"
    ),
    pytest.param(make_foreign, "it belongs to user 65534", id="foreign", marks=AS_ROOT),
]


@pytest.mark.parametrize(("make", "message"), HOSTILE)
def test_a_hostile_file_is_set_aside_and_the_job_begins_anew(
    store: StateStore, directory: Path, make: Callable[[Path], None], message: str
) -> None:
    before = descriptors()
    make(directory / NAME)
    error = store.load(IDENTITY)
    assert isinstance(error, StateCorrupt)
    assert message in str(error)
    assert error.file == str(directory / NAME)
    aside = Path(error.set_aside)
    assert re.fullmatch(rf"{NAME}\.corrupt\.20[0-9-]+T[0-9:]+Z", aside.name)
    assert aside.parent == directory
    assert os.path.lexists(aside)
    assert str(aside) in error.fix
    assert store.load(IDENTITY) is None
    store.commit([state(number=5)])
    assert store.load(IDENTITY) == state(number=5)
    store.write_back()
    assert descriptors() == before


def test_loading_all_tells_corrupt_files_from_the_others(
    store: StateStore, directory: Path
) -> None:
    states = [state(f"job-{job}") for job in range(5)]
    store.commit(states)
    for broken in states[:2]:
        (directory / file_name(broken.identity)).write_bytes(b"{")
    (directory / "notes.json").write_bytes(b"not ours")
    (directory / f"{'0' * 64}.json.bak").write_bytes(b"not ours either")
    loaded = store.load_all()
    assert loaded.states == {value.identity: value for value in states[2:]}
    assert {error.file for error in loaded.corrupt} == {
        str(directory / file_name(value.identity)) for value in states[:2]
    }
    assert all(Path(error.set_aside).read_bytes() == b"{" for error in loaded.corrupt)
    assert store.load_all().corrupt == ()


def test_a_file_that_is_removed_meanwhile_is_not_there(
    store: StateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.commit([state("other")])
    names = [NAME, *store.directory.names()]
    monkeypatch.setattr(Directory, "names", lambda _self: names)
    assert set(store.load_all().states) == {state("other").identity}


def test_files_set_aside_in_the_same_second_do_not_replace_one_another(
    store: StateStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kron.krond.state.directory.time.time", lambda: 1_772_409_600.9)
    asides = []
    for content in (b"1", b"2", b"3"):
        (directory / NAME).write_bytes(content)
        error = store.load(IDENTITY)
        assert isinstance(error, StateCorrupt)
        asides.append(Path(error.set_aside))
    assert [aside.read_bytes() for aside in asides] == [b"1", b"2", b"3"]
    assert [aside.name.removeprefix(f"{NAME}.corrupt.") for aside in asides] == [
        "2026-03-02T00:00:00Z",
        "2026-03-02T00:00:00Z.2",
        "2026-03-02T00:00:00Z.3",
    ]


def test_a_newer_file_stays_where_it_is(store: StateStore, directory: Path) -> None:
    newer = to_json(state()).replace(b'{"schema":2', b'{"schema":3')
    store.commit([state("other")])
    (directory / NAME).write_bytes(newer)
    for load in (lambda: store.load(IDENTITY), store.load_all):
        with pytest.raises(StateNewer, match=re.escape(str(directory / NAME))):
            load()
    assert (directory / NAME).read_bytes() == newer


def test_an_old_file_is_migrated_and_written_as_a_new_one(
    store: StateStore, directory: Path
) -> None:
    flat = (
        f'{{"schema":1,"identity":"{IDENTITY}","last_handled_period":"2026-03-01T00:00:00Z",'
        '"last_chosen":null,"last_run":null,"last_exit_code":null,"active_pid":null,"seed":null}'
    )
    (directory / NAME).write_text(flat)
    migrated = store.load(IDENTITY)
    assert isinstance(migrated, JobState)
    store.commit([migrated])
    assert (directory / NAME).read_bytes().startswith(b'{"schema":2,')
    assert store.load(IDENTITY) == migrated


def test_an_identity_that_is_not_unicode_is_refused(store: StateStore) -> None:
    with pytest.raises(KronError) as caught:
        store.load("a\udc80")
    assert caught.value.code is Code.IDENTITY


def test_leftovers_of_a_crash_are_removed_and_nothing_else(directory: Path) -> None:
    directory.mkdir(parents=True, mode=0o700)
    directory.chmod(0o700)
    kept = [".new-", ".new-x", "new-1", "1.json", f"{NAME}.corrupt.2026-03-02T00:00:00Z"]
    for name in [".new-1", ".new-77", *kept]:
        (directory / name).write_bytes(b"half")
    (directory / ".new-2").mkdir()  # cannot be removed, and must not be in the way
    store = StateStore.open(str(directory))
    assert set(os.listdir(directory)) == {*kept, ".new-2", "ballast", "krond.pid", "runs"}  # noqa: PTH208
    store.commit([state(f"job-{job}") for job in range(3)])
    assert len(store.load_all().states) == 3
    store.close()


def refused(path: Path) -> KronError:
    before = descriptors()
    with pytest.raises(KronError) as caught:
        StateStore.open(str(path))
    assert descriptors() == before
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o722, 0o1777])
def test_a_directory_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    error = refused(tmp_path)
    assert error.code is Code.STATE
    assert f"its mode is {mode:04o}" in str(error)
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_a_directory_that_others_can_read_is_accepted(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)  # what systemd makes of StateDirectory=
    StateStore.open(str(tmp_path)).close()


@AS_ROOT
def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.chown(tmp_path, NOBODY, NOBODY)
    assert "belongs to user 65534" in str(refused(tmp_path))


@pytest.mark.parametrize("ending", ["", "/", "/."])
def test_a_symbolic_link_is_refused(tmp_path: Path, ending: str) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(KronError, match="a part of it is a symbolic link"):
        StateStore.open(f"{tmp_path}/link{ending}")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert "symbolic link" in str(refused(tmp_path / "dangling"))


def test_a_file_is_no_state_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert "is not a directory" in str(refused(tmp_path / "file"))
    assert "is not a directory" in str(refused(tmp_path / "file" / "below"))


@pytest.mark.parametrize("name", ["runs", "krond.pid"])
def test_what_krond_needs_in_it_must_not_be_a_link(tmp_path: Path, name: str) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "target").mkdir(mode=0o700)
    (tmp_path / name).symlink_to("target")
    assert refused(tmp_path).code is Code.STATE


def test_the_proofs_must_not_be_writable_by_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs").chmod(0o777)
    assert "other users can write" in str(refused(tmp_path))


def test_parents_are_made_and_only_the_directory_itself_is_closed(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        StateStore.open(str(tmp_path / "a" / "b" / "c")).close()
    finally:
        os.umask(old)
    modes = [stat.S_IMODE((tmp_path / path).stat().st_mode) for path in ("a", "a/b", "a/b/c")]
    assert modes == [0o755, 0o755, 0o700]


def test_another_directory_put_in_its_place_changes_nothing(
    store: StateStore, directory: Path
) -> None:
    store.commit([state(number=1)])
    moved = directory.with_name("moved")
    directory.rename(moved)
    directory.mkdir(mode=0o700)
    (directory / NAME).write_bytes(to_json(state(number=9)))
    store.commit([state(number=2)])
    store.note_run(RunRecord("run", None, None, None, 5, 7, BOOT))
    assert store.load(IDENTITY) == state(number=2)
    assert from_json((moved / NAME).read_bytes()) == state(number=2)
    assert number_of(from_json((directory / NAME).read_bytes())) == 9
    assert os.listdir(moved / "runs") == ["run"]  # noqa: PTH208


def test_a_directory_that_was_removed_is_a_persistence_error(
    store: StateStore, directory: Path
) -> None:
    for name in ("krond.pid", "ballast"):
        (directory / name).unlink()
    (directory / "runs").rmdir()
    directory.rmdir()
    for count in (1, FEW):
        with pytest.raises(PersistenceError, match="No such file") as caught:
            store.commit([state(f"job-{job}") for job in range(count)])
        assert caught.value.code is Code.STATE_UNWRITABLE


def test_a_second_store_is_refused_until_the_first_is_closed(directory: Path) -> None:
    first = StateStore.open(str(directory))
    with pytest.raises(KronError, match=f"process {os.getpid()} has locked") as caught:
        StateStore.open(str(directory))
    assert caught.value.code is Code.RUNNING
    first.close()
    StateStore.open(str(directory)).close()


def test_opening_and_closing_leaks_no_descriptor(directory: Path) -> None:
    before = descriptors()
    for _ in range(3):
        opened = StateStore.open(str(directory))
        opened.commit([state(f"job-{job}") for job in range(FEW)])
        opened.close()
    assert descriptors() == before


RUN = RunRecord("run-1", 1_772_409_600, 1_772_409_660, 1_772_409_660_000_000_001, 5, 7, BOOT)


def test_a_proof_is_noted_read_and_removed(store: StateStore, directory: Path) -> None:
    assert store.proof("run-1") == str(directory / "runs" / "run-1")
    assert not store.has_proof("run-1")
    assert store.noted_run("run-1") is None
    Path(store.proof("run-1")).touch(mode=0o600)
    assert store.has_proof("run-1")
    assert store.noted_run("run-1") is None  # begun, and killed before it was noted
    store.note_run(RUN.replace(boot_id=BOOT + "-and-more"))
    store.note_run(RUN)
    assert store.noted_run("run-1") == RUN
    assert store.proofs() == ["run-1"]
    store.remove_proof("run-1")
    store.remove_proof("run-1")
    assert store.proofs() == []


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(with_bytes(b'{"run_id":"run-1"'), id="half"),
        pytest.param(with_bytes(b"\xff"), id="binary"),
        pytest.param(with_bytes(b"9" * MAX_BYTES), id="big"),
        pytest.param(lambda path: os.mkfifo(path, 0o600), id="fifo"),
        pytest.param(lambda path: path.mkdir(), id="directory"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), id="link"),
        pytest.param(make_sparse, id="a-gigabyte"),
    ],
)
def test_a_hostile_proof_is_a_proof_that_notes_nothing(
    store: StateStore, make: Callable[[Path], None]
) -> None:
    make(Path(store.proof("run-1")))
    assert store.has_proof("run-1")
    assert store.noted_run("run-1") is None


def test_the_note_of_another_run_is_none(store: StateStore) -> None:
    store.note_run(RUN)
    Path(store.proof("run-1")).rename(store.proof("run-2"))
    assert store.noted_run("run-2") is None


def test_noting_a_run_follows_no_link_and_waits_for_nobody(
    store: StateStore, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    Path(store.proof("run-1")).symlink_to(outside)
    with pytest.raises(PersistenceError):
        store.note_run(RUN)
    assert outside.read_bytes() == b"precious"
    os.mkfifo(store.proof("run-2"))
    with pytest.raises(PersistenceError):
        store.note_run(RUN.replace(run_id="run-2"))


@pytest.mark.parametrize("run_id", ["", ".", "..", "a/b", "../x", "a\0", "a b", "x" * 101, ".x"])
def test_a_run_id_that_is_no_name_reaches_no_file(store: StateStore, run_id: str) -> None:
    for use in (store.proof, store.has_proof, store.noted_run, store.remove_proof):
        with pytest.raises(ValueError, match="run id"):
            use(run_id)


def test_what_is_no_run_id_is_no_proof(store: StateStore, directory: Path) -> None:
    for name in (b".hidden", b"with space", b"\xff", b"good-1"):
        (directory / "runs" / os.fsdecode(name)).touch()
    assert store.proofs() == ["good-1"]
