"""A KronJob as `kronctl list` shows it: with its next run, and what its status says."""

from __future__ import annotations

from kron.answers.listing import IN, NEXT_RUN, next_cells, next_fields
from kron.answers.times import distance
from kron.core.decision import Decision
from kron.core.errors import KronError, visible
from kron.core.frozen import Frozen
from kron.core.instant import optional_text
from kron.kube.api_object import Object, instant_s, integer, member, objects, text
from kron.kube.resource.kronjob import InvalidSpec, KronJob, read_stored
from kron.kube.resource.results import RunResults, results_from_json

_CLUSTER = ("NAME", NEXT_RUN, IN, "READY", "LAST", "LAST RESULT", "ACTIVE", "SCHEDULE")
_FILES = ("NAME", NEXT_RUN, IN, "SCHEDULE", "FILE")
_WIDE = {
    False: ("SUSPENDED", "TIME ZONE", "LAST SUCCESS", "LAST FAILURE", "AGE"),
    True: ("SUSPENDED", "TIME ZONE"),
}


class Readiness(Frozen):
    """The condition Ready, as far as it is about the present spec."""

    is_ready: bool | None
    """None if the operator has not seen this generation yet."""
    reason: str = ""
    message: str = ""

    @property
    def cell(self) -> str:
        if self.is_ready is None:
            return "Unknown"
        return "True" if self.is_ready else f"False: {self.reason}"


class ListedKronJob(Frozen):
    """A KronJob, its file if it has one, and its next run if it has one."""

    content: Object
    kronjob: KronJob | None = None
    """None if it is invalid."""
    path: str = ""
    line: int = 0
    decision: Decision | None = None
    error: str = ""
    """What is wrong with an invalid one."""

    @property
    def name(self) -> str:
        return str(self.content["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.content["metadata"]["namespace"])

    @property
    def identity(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def status(self) -> Object:
        return member(self.content, "status")

    @property
    def active(self) -> int:
        active = self.status.get("active")
        return integer(self.status, "activeCount", len(active) if isinstance(active, list) else 0)

    @property
    def results(self) -> RunResults:
        return results_from_json(self.status)

    @property
    def last_result(self) -> str | None:
        recent = self.results.recent
        return recent[0].word if recent else None

    @property
    def readiness(self) -> Readiness:
        for each in objects(self.status, "conditions"):
            if text(each, "type") == "Ready":
                seen = integer(each, "observedGeneration")
                if seen < integer(member(self.content, "metadata"), "generation"):
                    break
                words = visible(text(each, "reason")), visible(text(each, "message"))
                return Readiness(each.get("status") == "True", *words)
        return Readiness(None)

    @property
    def is_suspended(self) -> bool:
        """Whether a field or the schedule text suspends it."""
        if self.kronjob is not None:
            return self.kronjob.schedule.policy.suspend
        return member(member(self.content, "spec"), "policy").get("suspend") is True

    @property
    def schedule_text(self) -> str:
        if self.kronjob is not None:
            return self.kronjob.schedule_text
        return visible(text(member(self.content, "spec"), "schedule"))

    @property
    def why_not_ready(self) -> str:
        """What keeps it from running; '' if nothing is known."""
        if self.error:
            return self.error
        ready = self.readiness
        return f"{ready.reason}: {ready.message}" if ready.is_ready is False else ""


def of_cluster(content: Object) -> ListedKronJob:
    try:
        return ListedKronJob(content, read_stored(content))
    except InvalidSpec as error:
        return ListedKronJob(content, error=_first_line(error))


def head(*, is_file: bool, is_wide: bool) -> tuple[str, ...]:
    return (*(_FILES if is_file else _CLUSTER), *(_WIDE[is_file] if is_wide else ()))


def row(listed: ListedKronJob, at_s: int, *, is_file: bool, is_wide: bool) -> tuple[str, ...]:
    """The cells below `head`."""
    cells = ("invalid", "")
    if listed.kronjob is not None:
        cells = next_cells(listed.kronjob.job, listed.decision, at_s)
    zone = "" if listed.kronjob is None else listed.kronjob.schedule.zone.key
    wide: tuple[str, ...] = (str(listed.is_suspended).lower(), zone)
    if is_file:
        place = f"{listed.path}:{listed.line}"
        return listed.identity, *cells, listed.schedule_text, place, *(wide if is_wide else ())
    results = listed.results
    made_s = instant_s(listed.content["metadata"], "creationTimestamp")
    wide = (
        *wide,
        optional_text(results.last_success_s) or "",
        optional_text(results.last_failure_s) or "",
        "" if made_s is None else distance(at_s - made_s),
    )
    last = visible(text(listed.status, "lastOutcome"))
    return (
        listed.identity,
        *cells,
        listed.readiness.cell,
        last,
        listed.last_result or "",
        str(listed.active),
        listed.schedule_text,
        *(wide if is_wide else ()),
    )


def document(listed: ListedKronJob) -> Object:
    kronjob, results, ready = listed.kronjob, listed.results, listed.readiness
    return {
        "namespace": listed.namespace,
        "name": listed.name,
        "identity": listed.identity,
        "path": listed.path or None,
        "line": listed.line or None,
        "valid": kronjob is not None,
        "schedule": kronjob and kronjob.schedule_text,
        "timezone": kronjob and kronjob.schedule.zone.key,
        "suspended": listed.is_suspended,
        "ready": ready.is_ready,
        "ready_reason": ready.reason or None,
        "ready_message": ready.message or None,
        "last_period": text(listed.status, "lastPeriodID") or None,
        "last_outcome": text(listed.status, "lastOutcome") or None,
        "last_result": listed.last_result,
        "last_success": optional_text(results.last_success_s),
        "last_failure": optional_text(results.last_failure_s),
        "active": listed.active,
        **next_fields(listed.decision),
    }


def _first_line(error: KronError) -> str:
    return str(error).partition("\n")[0]
