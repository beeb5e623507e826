"""Slots: what runs of several jobs share, and only a number of them may use at a time.

Each slot has a queue. A run takes all of its slots at once, when it is the first in the queue of
each of them; none holds one slot while it waits for another. So there is no deadlock, nobody
overtakes another in a queue, and a start or an end costs the same however many wait.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import count, islice

from kron.krond.roster.member import HostMember
from kron.krond.roster.run import PendingRun

SHOWN_HOLDERS = 3


class Slots:
    def __init__(self) -> None:
        self._sizes: Mapping[str, int] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        """The slots that each run holds or waits for, by its run id."""
        self._holders: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """The name of each job that holds a slot, by the run id."""
        self._queues: defaultdict[str, OrderedDict[str, PendingRun]] = defaultdict(OrderedDict)
        self._arrivals: dict[str, int] = {}
        """The number of each of these runs, in the order in which they asked."""
        self._numbers = count()

    def take(self, pending: PendingRun) -> str:
        """Take what the run needs. If it has to wait for that, what for, for people; else ''."""
        run_id, names = pending.run_id, pending.member.entry.task.slots
        if not names or run_id in self._holders[self._names.get(run_id, names)[0]]:
            return ""
        self._names[run_id] = names
        self._arrivals[run_id] = next(self._numbers)
        for name in names:
            self._queues[name][run_id] = pending
        if self._can_take(run_id):
            self._give(run_id, pending.member)
            return ""
        return self._obstacle(run_id)

    def hold(self, run_id: str, member: HostMember) -> None:
        """A run goes on that another krond has started: it counts, even if there is no room."""
        if names := member.entry.task.slots:
            self._names[run_id] = names
            self._give(run_id, member)

    def leave(self, run_id: str) -> list[PendingRun]:
        """The run has ended, or never starts. Those for which there is room now have taken it."""
        names = self._names.pop(run_id, ())
        self._arrivals.pop(run_id, None)
        for name in names:
            self._holders[name].pop(run_id, None)
            self._queues[name].pop(run_id, None)
        return self._serve(names)

    def resize(self, sizes: Mapping[str, int], unstarted: Collection[str]) -> list[PendingRun]:
        """The configuration was read again: those that have not started have to ask again.

        Returns those of them that wait for slots, in their order.
        """
        self._sizes = sizes
        waiting = {run_id: run for queue in self._queues.values() for run_id, run in queue.items()}
        self._queues.clear()
        in_order = sorted(waiting, key=self._arrivals.__getitem__)
        for run_id in [run_id for run_id in self._names if run_id in unstarted]:
            self.leave(run_id)
        return [waiting[run_id] for run_id in in_order]

    def _serve(self, names: Iterable[str]) -> list[PendingRun]:
        served: list[PendingRun] = []
        to_look_at = list(names)
        while to_look_at:
            queue = self._queues[to_look_at.pop()]
            if queue and self._can_take(run_id := next(iter(queue))):
                pending = queue[run_id]
                self._give(run_id, pending.member)
                served.append(pending)
                to_look_at += self._names[run_id]  # another is the first there now
        return sorted(served, key=lambda pending: self._arrivals[pending.run_id])

    def _can_take(self, run_id: str) -> bool:
        return all(self._is_open(name, run_id) for name in self._names[run_id])

    def _is_open(self, name: str, run_id: str) -> bool:
        return self._has_room(name) and next(iter(self._queues[name])) == run_id

    def _has_room(self, name: str) -> bool:
        return len(self._holders[name]) < self._sizes[name]

    def _give(self, run_id: str, member: HostMember) -> None:
        for name in self._names[run_id]:
            self._holders[name][run_id] = member.entry.name
            self._queues[name].pop(run_id, None)

    def _obstacle(self, run_id: str) -> str:
        """What keeps a run from its slots, as it is now."""
        name = next(name for name in self._names[run_id] if not self._is_open(name, run_id))
        if self._has_room(name):
            first = next(iter(self._queues[name].values()))
            return f"slot {name}: {first.member.entry.name} comes first"
        holders = self._holders[name]
        shown = ", ".join(islice(holders.values(), SHOWN_HOLDERS))
        more = len(holders) - SHOWN_HOLDERS
        rest = f" and {more} more" if more > 0 else ""
        return f"slot {name}: {len(holders)} of {self._sizes[name]} taken by {shown}{rest}"
