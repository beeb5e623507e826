"""What a log says of a period, and whether all of it can be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kron.krond.state.record import attempt_of
from kron.logs.record import Record


def contradictions(records: Iterable[Record]) -> list[str]:
    """What a log says of a period that cannot all be true."""
    found = []
    told: dict[tuple[str | None, ...], list[str]] = {}
    runs: dict[tuple[str | None, ...], list[str]] = {}
    firsts: dict[tuple[str | None, ...], set[str]] = {}
    for record in records:
        if record.get("period"):
            key = record.get("name"), record.get("period")
            told.setdefault(key, []).append(record.event)
            if run_id := record.get("run_id"):
                runs.setdefault((*key, run_id), []).append(record.event)
                firsts.setdefault(key, set()).add(attempt_of(run_id)[0])
    for (name, period), run_ids in firsts.items():
        if len(run_ids) > 1:
            found.append(f"{name} {period} has runs that are no attempts of one: {run_ids}")
    for (name, period, _), events in runs.items():
        counts = Counter(events)
        if counts["started"] > 1:
            found.append(f"{name} {period} started {counts['started']} times: {events}")
        if counts["exited"] > 1:
            found.append(f"{name} {period} ended {counts['exited']} times: {events}")
        if "exited" in events and "started" in events[events.index("exited") :]:
            found.append(f"{name} {period} started after its end: {events}")
    for (name, period), events in told.items():
        counts = Counter(events)
        never = counts["missed_deadline"] + counts["skipped_concurrency"]
        if never > 1:
            found.append(f"{name} {period} was given up {never} times: {events}")
        if never and any(counts[event] for event in ("started", "adopted", "exited")):
            found.append(f"{name} {period} ran and did not run: {events}")
    return found
