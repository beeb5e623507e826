"""What a log says of a period, and whether all of it can be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kron.logs.record import Record


def contradictions(records: Iterable[Record]) -> list[str]:
    """What a log says of a period that cannot all be true."""
    found = []
    told: dict[tuple[str | None, ...], list[str]] = {}
    for record in records:
        if record.get("period"):
            events = told.setdefault((record.get("name"), record.get("period")), [])
            events.append(record.event)
    for (name, period), events in told.items():
        counts = Counter(events)
        never = counts["missed_deadline"] + counts["skipped_concurrency"]
        if counts["started"] > 1:
            found.append(f"{name} {period} started {counts['started']} times: {events}")
        if counts["exited"] > 1:
            found.append(f"{name} {period} ended {counts['exited']} times: {events}")
        if never > 1:
            found.append(f"{name} {period} was given up {never} times: {events}")
        if never and any(counts[event] for event in ("started", "adopted", "exited")):
            found.append(f"{name} {period} ran and did not run: {events}")
        if "exited" in events and "started" in events[events.index("exited") :]:
            found.append(f"{name} {period} started after its end: {events}")
    return found
