"""A migration: the KronJob that does what a CronJob does, and what is to be known about it.

Nothing is left out silently: what could not be carried over, or means something else in Kron, is
a note. What no KronJob can do is an error, and then there is no manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from json import dumps

from kron.core.duration import SECOND_NS, format_duration, parse_duration
from kron.core.errors import Code, KronError, ParseError, quoted
from kron.core.frozen import Frozen
from kron.core.parser import parse_schedule
from kron.core.schedule import Schedule
from kron.core.zone import load_zone
from kron.kube.kronctl.daylight import daylight_difference
from kron.kube.kronctl.dialect import Translation, translate
from kron.kube.kronctl.spread import AUTO, gaps, proposed_s
from kron.kube.resource.kronjob import find_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeVar

    Value = TypeVar("Value")
    Spread = int | Literal["auto"] | None
    """A window's length in nanoseconds; "auto" proposes one; None gives none."""

LONGEST_NAME = 52
CRONJOB = "CronJob"
BATCH = "batch"
SCHEDULED_ANNOTATION = "batch.kubernetes.io/cronjob-scheduled-timestamp"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_VERSIONS = (f"{BATCH}/v1", f"{BATCH}/v1beta1")
_SHOWN_PROBLEMS = 5
_SHOWN_VALUE = 60
_TYPES = {dict: "an object", str: "text", bool: "true or false"}
_CONCURRENCY = {"Allow": "allow", "Forbid": "forbid", "Replace": "replace"}
_SPEC = (
    "schedule",
    "timeZone",
    "startingDeadlineSeconds",
    "concurrencyPolicy",
    "suspend",
    "jobTemplate",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
)
_LIMITS = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_OF_THE_SERVER = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


class Migration(Frozen):
    """A CronJob and what becomes of it."""

    namespace: str
    """'' if its manifest names none."""
    name: str
    manifest: dict[str, Any] | None
    """The KronJob; None if there can be none, and then `error` says why."""
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def place(self) -> str:
        """Who it is, for messages."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def migrate(cronjob: Mapping[str, Any], *, spread: Spread = None, now_s: int) -> Migration:
    """The KronJob for a CronJob. `now_s` is for what daylight saving does in the coming year."""
    namespace, name = _shown(cronjob, "namespace"), _shown(cronjob, "name")
    notes: list[str] = []
    try:
        manifest = _manifest(cronjob, notes, spread, now_s)
    except KronError as error:
        told = f"{error.message} ({error.fix})" if error.fix else error.message
        return Migration(namespace, name or "?", None, tuple(notes), told)
    problems = find_problems(manifest)
    if problems:
        listed = "; ".join(map(str, problems[:_SHOWN_PROBLEMS]))
        told = f"no valid KronJob comes of it: {listed}"
        return Migration(namespace, name, None, tuple(notes), told)
    return Migration(namespace, name, manifest, tuple(notes))


def _manifest(
    cronjob: Mapping[str, Any], notes: list[str], spread: Spread, now_s: int
) -> dict[str, Any]:
    _check_type(cronjob)
    metadata = _member(cronjob, "metadata", dict) or {}
    _check_name(_member(metadata, "metadata.name", str) or "")
    spec: dict[str, Any] = _member(cronjob, "spec", dict) or {}
    for key in spec:
        if key not in _SPEC:
            notes.append(f"spec.{key} is no field of a KronJob and is left out")
    translation, zone = _schedule(spec, notes)
    schedule = _parsed(translation.cron, zone)
    notes += daylight_difference(schedule, now_s).notes
    made: dict[str, Any] = {"schedule": translation.cron}
    if zone:
        made["timezone"] = zone
    if window := _window(schedule, spread, notes):
        made["window"] = {"mode": "after", "duration": window}
    made["policy"] = _policy(spec, schedule, notes)
    for limit in _LIMITS:
        if spec.get(limit) is not None:
            made[limit] = spec[limit]
    made["jobTemplate"] = _template(spec, notes)
    _note_lifetime(made, notes)
    return {
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": _metadata(metadata, notes),
        "spec": made,
    }


def _check_type(cronjob: Mapping[str, Any]) -> None:
    """Refuse what only looks like a CronJob. The items of the server's lists say no type at all."""
    for field, known in (("kind", (CRONJOB,)), ("apiVersion", _VERSIONS)):
        said = cronjob.get(field)
        if said is not None and said not in known:
            shown = f"{field}: {quoted(str(said))} is not {' or '.join(known)}"
            raise KronError(Code.VALUE_UNKNOWN, shown, f"write {field}: {known[0]}")


def _check_name(name: str) -> None:
    if not name:
        raise KronError(Code.FIELD_MISSING, "metadata.name is missing")
    if len(name) > LONGEST_NAME:
        raise KronError(
            Code.LIMIT,
            f"the name has {len(name)} characters, and a KronJob's has at most {LONGEST_NAME}",
            "give it a shorter one; its chosen times follow from the name",
        )


def _schedule(spec: Mapping[str, Any], notes: list[str]) -> tuple[Translation, str]:
    text = spec.get("schedule")
    if not isinstance(text, str):
        raise KronError(Code.FIELD_MISSING, "spec.schedule is missing, or is not text")
    translation = translate(text)
    notes += translation.notes
    zone = _member(spec, "spec.timeZone", str) or ""
    if translation.zone:
        if zone and zone != translation.zone:
            notes.append(
                f"the zone is {translation.zone}, which the schedule names; Kubernetes does not "
                f"look at spec.timeZone ({quoted(zone)}) then"
            )
        zone = translation.zone
        notes.append(f"the zone in the schedule has become spec.timezone: {quoted(zone)}")
    if zone == "Local":
        raise KronError(
            Code.ZONE_UNKNOWN,
            'the zone "Local" is that of the host of kube-controller-manager',
            "name the zone that is meant",
        )
    return translation, "" if zone in ("UTC", "Etc/UTC") else zone


@lru_cache(maxsize=1024)
def _parsed(cron: str, zone: str) -> Schedule:
    try:
        schedule = parse_schedule(cron)
        return schedule.replace(zone=load_zone(zone)) if zone else schedule
    except ParseError as error:
        raise KronError(error.code, error.message, error.fix) from None


def _window(schedule: Schedule, spread: Spread, notes: list[str]) -> str:
    if spread is None:
        return ""
    if spread == AUTO:
        window_s = proposed_s(schedule)
        if not window_s:
            notes.append("no window: its runs are so close that it would smooth nothing")
            return ""
        spread = window_s * SECOND_NS
    assert isinstance(spread, int)
    shortest_s = gaps(schedule).shortest_s
    window = format_duration(spread)
    notes.append(f"a window of {window} after each time: its Jobs start somewhere in there")
    if shortest_s and spread // SECOND_NS >= shortest_s:
        gap = format_duration(shortest_s * SECOND_NS)
        notes.append(f"the window of {window} is not shorter than the time between runs, {gap}")
    return window


def _policy(spec: Mapping[str, Any], schedule: Schedule, notes: list[str]) -> dict[str, Any]:
    said = _member(spec, "spec.concurrencyPolicy", str) or "Allow"
    if said not in _CONCURRENCY:
        known = ", ".join(_CONCURRENCY)
        shown = quoted(said)
        raise KronError(Code.VALUE_UNKNOWN, f"concurrencyPolicy: {shown} is not one of {known}")
    policy: dict[str, Any] = {"concurrency": _CONCURRENCY[said]}
    if said == "Forbid":
        notes.append(
            "concurrencyPolicy Forbid: Kubernetes starts a run that was held back once the earlier "
            "one has ended, if no other is due by then; Kron skips it for good"
        )
    if deadline := _deadline(spec, schedule, notes):
        policy["deadline"] = deadline
    if _member(spec, "spec.suspend", bool):
        policy["suspend"] = True
    return policy


def _deadline(spec: Mapping[str, Any], schedule: Schedule, notes: list[str]) -> str:
    seconds = spec.get("startingDeadlineSeconds")
    if seconds is None:
        longest_s = gaps(schedule).longest_s
        deadline = format_duration(longest_s * SECOND_NS)
        notes.append(
            "no startingDeadlineSeconds: Kubernetes starts the latest missed run however late; "
            f"policy.deadline is {deadline}, the longest time between two, which does the same"
        )
        return deadline
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 <= seconds < 2**63:
        shown = quoted(str(seconds))
        raise KronError(Code.NUMBER, f"startingDeadlineSeconds: {shown} is not a number of seconds")
    return format_duration(seconds * SECOND_NS) if seconds < 2**32 else "876000h"


def _template(spec: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    template: dict[str, Any] = _member(spec, "spec.jobTemplate", dict) or {}
    job_spec = _member(template, "spec.jobTemplate.spec", dict)
    if job_spec is None:
        raise KronError(Code.FIELD_MISSING, "spec.jobTemplate.spec is missing")
    metadata: dict[str, Any] = _member(template, "spec.jobTemplate.metadata", dict) or {}
    kept = {
        key: texts
        for key in ("labels", "annotations")
        if (texts := _member(metadata, f"spec.jobTemplate.metadata.{key}", dict))
    }
    for key in metadata:
        if key not in ("labels", "annotations", "creationTimestamp"):
            notes.append(f"spec.jobTemplate.metadata.{key} is left out; Kubernetes ignores it too")
    for key in template:
        if key not in ("metadata", "spec"):
            notes.append(f"spec.jobTemplate.{key} is no field of a KronJob and is left out")
    if _mentions(job_spec, SCHEDULED_ANNOTATION):
        notes.append(
            f"its Pods read the annotation {SCHEDULED_ANNOTATION}, which Kron does not set; the "
            "nominal time is in kron.io/nominal-time"
        )
    return {**({"metadata": kept} if kept else {}), "spec": job_spec}


def _note_lifetime(made: Mapping[str, Any], notes: list[str]) -> None:
    """Kron keeps a finished Job while its period could still be started: its name is the lock."""
    ttl_s = made["jobTemplate"]["spec"].get("ttlSecondsAfterFinished")
    deadline = made["policy"].get("deadline", "0")
    if isinstance(ttl_s, int) and parse_duration(deadline) > ttl_s * SECOND_NS:
        notes.append(
            f"ttlSecondsAfterFinished is {ttl_s}: a finished Job is kept for the deadline of "
            f"{deadline} all the same, so that its period cannot run twice"
        )


def _metadata(metadata: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {"name": metadata["name"]}
    if namespace := _member(metadata, "metadata.namespace", str):
        made["namespace"] = namespace
    labels = dict(_member(metadata, "metadata.labels", dict) or {})
    if labels:
        made["labels"] = labels
    annotations = dict(_member(metadata, "metadata.annotations", dict) or {})
    annotations.pop(LAST_APPLIED, None)  # kubectl's own record of the CronJob
    if annotations:
        made["annotations"] = annotations
    owners = metadata.get("ownerReferences")
    if owners:
        notes.append(
            "its ownerReferences are left out: whoever owns the CronJob may undo its suspension"
        )
    known = ("name", "namespace", "labels", "annotations", "ownerReferences", *_OF_THE_SERVER)
    for key in metadata:
        if key not in known:
            notes.append(f"metadata.{key} is left out")
    if labels.get("app.kubernetes.io/managed-by") == "Helm":
        notes.append(
            "it is managed by Helm: the next upgrade makes the CronJob anew, so change the chart"
        )
    return made


def _mentions(value: object, word: str) -> bool:
    if isinstance(value, str):
        return word in value
    if isinstance(value, dict):
        return any(_mentions(each, word) for pair in value.items() for each in pair)
    return isinstance(value, list) and any(_mentions(each, word) for each in value)


def _member(values: Mapping[str, Any], path: str, kind: type[Value]) -> Value | None:
    """The field at the end of a path, or None; `KronError` if it is of another type."""
    value = values.get(path.rpartition(".")[2])
    if value is None or isinstance(value, kind):
        return value
    shown = dumps(value)
    shown = shown if len(shown) <= _SHOWN_VALUE else shown[: _SHOWN_VALUE - 1] + "…"
    raise KronError(Code.FIELD_FORM, f"{path}: {shown} is not {_TYPES[kind]}")


def _shown(cronjob: Mapping[str, Any], name: str) -> str:
    """A word of the metadata for messages, as far as it is one."""
    metadata = cronjob.get("metadata")
    value = metadata.get(name) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""
