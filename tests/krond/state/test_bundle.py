"""The bundle: many states saved at once in one file, and written back to their own later."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kron.krond.state.errors import StateCorrupt, StateNewer
from kron.krond.state.fields import MAX_BYTES
from kron.krond.state.file_replacer import BUNDLE, FEW, pack
from kron.krond.state.schema import to_json
from kron.krond.state.store import StateStore
from tests.krond.state.states import state
from tests.krond.state.test_faults import numbers, rounds, temporaries
from tests.krond.state.tracing import killed_at
from tests.soak import SOAK

MANY = FEW + 1


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def store(directory: Path) -> Iterator[StateStore]:
    store = StateStore.open(str(directory))
    store.commit(rounds(MANY, 0))
    yield store
    store.close()


def found_by_the_next(directory: Path, copy: Path) -> list[int]:
    """The numbers of the states that a krond after a crash would find."""
    copy.mkdir(mode=0o700)
    for file in directory.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
            (copy / file.name).chmod(0o600)
    opened = StateStore.open(str(copy))
    seen = numbers(opened, MANY)
    opened.close()
    assert not (copy / BUNDLE).exists()
    assert temporaries(copy) == []
    return seen


def test_many_are_safe_in_one_file_until_there_is_time_for_each(
    store: StateStore, directory: Path, tmp_path: Path
) -> None:
    store.commit(rounds(MANY, 1), quickly=True)
    assert (directory / BUNDLE).read_bytes() == pack(map(to_json, rounds(MANY, 1)))
    assert numbers(store, MANY) == [0] * MANY  # as they were, in their own files
    assert found_by_the_next(directory, tmp_path / "copy") == [1] * MANY
    store.write_back()
    assert not (directory / BUNDLE).exists()
    assert numbers(store, MANY) == [1] * MANY


def test_whoever_asks_for_one_of_them_is_given_the_latest(store: StateStore) -> None:
    store.commit(rounds(MANY, 1), quickly=True)
    assert store.load(state("job-3").identity) == state("job-3", 1)


@pytest.mark.heavy
def test_few_or_very_large_ones_go_to_their_places_at_once(
    store: StateStore, directory: Path
) -> None:
    store.commit(rounds(FEW - 1, 1), quickly=True)
    assert not (directory / BUNDLE).exists()
    assert numbers(store, MANY) == [0, 0, *[1] * (FEW - 1)]
    large = [state(f"job-{job}", 2, size=450_000) for job in range(20)]
    assert sum(len(to_json(each)) for each in large) > MAX_BYTES
    store.commit(large, quickly=True)
    assert not (directory / BUNDLE).exists()
    assert store.load(large[0].identity) == large[0]


def test_a_commit_while_there_is_a_bundle_leaves_the_latest_of_everybody(
    store: StateStore, directory: Path
) -> None:
    for quickly in (False, True):
        store.commit(rounds(MANY, 1), quickly=True)
        store.commit(rounds(MANY - 5, 2), quickly=quickly)
        assert not (directory / BUNDLE).exists()
        assert numbers(store, MANY) == [*[1] * 5, *[2] * (MANY - 5)]


def killed_at_each_call(
    directory: Path, prepare: Callable[[StateStore], object], work: Callable[[StateStore], object]
) -> list[tuple[list[int], bool]]:
    """What the next krond finds after a kill at some system calls of `work`, and if that ended."""
    outcomes = []
    for step in itertools.count(0, 1 if SOAK > 1 else 5):
        store = StateStore.open(str(directory))
        store.commit(rounds(MANY, 0))
        prepare(store)
        stops, ended = killed_at(step, lambda: work(store))  # noqa: B023
        outcomes.append((found_by_the_next(directory, directory / f"copy-{step}"), ended))
        store.close()
        if stops <= step:
            return outcomes
    raise AssertionError


@pytest.mark.heavy
def test_killed_while_they_are_bundled_all_are_old_or_all_are_new(directory: Path) -> None:
    outcomes = killed_at_each_call(
        directory, lambda _: None, lambda store: store.commit(rounds(MANY, 1), quickly=True)
    )
    for seen, ended in outcomes:
        assert seen in ([[1] * MANY] if ended else [[0] * MANY, [1] * MANY])
    assert [0] * MANY in [seen for seen, _ in outcomes]
    assert outcomes[-1] == ([1] * MANY, True)


@pytest.mark.heavy
def test_killed_while_they_are_put_into_their_places_all_are_new(directory: Path) -> None:
    def prepare(store: StateStore) -> None:
        store.commit(rounds(MANY, 1), quickly=True)

    outcomes = killed_at_each_call(directory, prepare, StateStore.write_back)
    assert {tuple(seen) for seen, _ in outcomes} == {(1,) * MANY}


@pytest.mark.heavy
def test_killed_in_a_commit_after_it_nobody_is_older_than_the_bundle(directory: Path) -> None:
    def prepare(store: StateStore) -> None:
        store.commit(rounds(MANY, 1), quickly=True)

    outcomes = killed_at_each_call(
        directory, prepare, lambda store: store.commit(rounds(MANY, 2), quickly=True)
    )
    for seen, ended in outcomes:
        assert set(seen) <= ({2} if ended else {1, 2})
    assert outcomes[0][0] == [1] * MANY
    assert outcomes[-1] == ([2] * MANY, True)


def shortened(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def without_a_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


def with_another_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"2026", b"2027", 1))


def of_no_states(path: Path) -> None:
    path.write_bytes(pack([b"[]\n"] * MANY))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def writable_by_others(path: Path) -> None:
    path.chmod(0o666)


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "damage",
    [
        shortened,
        without_a_line,
        with_another_byte,
        of_no_states,
        empty,
        writable_by_others,
        link,
    ],
)
def test_one_that_does_not_read_is_set_aside_and_told_of(
    directory: Path, damage: Callable[[Path], None]
) -> None:
    store = StateStore.open(str(directory))
    store.commit(rounds(MANY, 0))
    store.commit(rounds(MANY, 1), quickly=True)
    bundle = (directory / BUNDLE).read_bytes()
    store.close()
    (directory / BUNDLE).write_bytes(bundle)
    (directory / BUNDLE).chmod(0o600)
    damage(directory / BUNDLE)
    store = StateStore.open(str(directory))
    loaded = store.load_all()
    store.close()
    store = StateStore.open(str(directory))
    assert isinstance(loaded.lost, StateCorrupt)
    assert loaded.lost.file == str(directory / BUNDLE)
    assert os.path.lexists(directory / BUNDLE), "until what follows from it is safe"
    moved = store.set_bundle_aside()
    assert moved is not None
    assert os.path.lexists(moved.set_aside)
    assert Path(moved.set_aside).name.startswith(f"{BUNDLE}.corrupt.")
    assert not os.path.lexists(directory / BUNDLE)
    assert store.set_bundle_aside() is None
    store.close()
    assert len(loaded.states) == MANY
    again = StateStore.open(str(directory))
    assert again.load_all().lost is None
    again.close()


def test_one_of_a_newer_version_stays_where_it_is(directory: Path) -> None:
    StateStore.open(str(directory)).close()
    newer = pack(to_json(state()).replace(b'"schema":2', b'"schema":3', 1) for _ in range(MANY))
    (directory / BUNDLE).write_bytes(newer)
    (directory / BUNDLE).chmod(0o600)
    with pytest.raises(StateNewer, match=rf"{BUNDLE} has schema 3"):
        StateStore.open(str(directory))
    assert (directory / BUNDLE).read_bytes() == newer
