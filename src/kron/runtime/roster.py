"""The roster: every job that an adapter looks after, by its key."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.generic import Generic
from kron.runtime.tracked import TrackedJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any, TypeVar

    Key = TypeVar("Key", bound=Hashable)
    Tracked = TypeVar("Tracked", bound=TrackedJob[Any])
else:
    Key = Tracked = None


class Roster(Generic[Key, Tracked]):
    """Jobs by key. Iterating yields the jobs that are present when it begins."""

    def __init__(self) -> None:
        self._jobs: dict[Key, Tracked] = {}

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Tracked]:
        return iter(list(self._jobs.values()))

    def get(self, key: Key) -> Tracked | None:
        return self._jobs.get(key)

    def add(self, key: Key, job: Tracked) -> None:
        self._jobs[key] = job

    def remove(self, key: Key) -> Tracked:
        return self._jobs.pop(key)
