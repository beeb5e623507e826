"""A migration: the KronJob that does what a CronJob does, and notes about the differences.

Nothing is left out silently: a note names everything that cannot be converted or that means
something else in Kron. If no KronJob can do the same, that is an error without a manifest.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache, partial

from kron.core.duration import SECOND_NS, format_duration, parse_duration
from kron.core.errors import Code, KronError, ParseError, quoted
from kron.core.frozen import Frozen
from kron.core.gap import longest_gap_s, shortest_gap
from kron.core.parser import parse_schedule
from kron.core.schedule import Schedule
from kron.core.year import LEAP_YEAR, Year
from kron.core.zone import load_zone
from kron.kube.api_object import Object, member, text
from kron.kube.kronctl.migrate.clock_changes import daylight_difference
from kron.kube.kronctl.migrate.dialect import translate
from kron.kube.resource.kronjob import API_VERSION, KIND, find_problems
from kron.kube.resource.schema.definition import FieldType, SchemaField
from kron.kube.resource.schema.reserved import RESERVED, reserved_keys, without_reserved
from kron.kube.resource.schema.validate import METADATA_NAMES, TEXTS, FieldProblem, check_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Spread = int | Literal["auto"] | None
    """A window's length in nanoseconds; "auto" proposes one; None gives none."""

CRONJOB = "CronJob"
BATCH = "batch"
SCHEDULED_ANNOTATION = "batch.kubernetes.io/cronjob-scheduled-timestamp"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_SHARE = 10
"""A proposed window is a tenth of the shortest gap."""
_LONGEST_S = 3_600
_SHORTEST_S = 30
"""A shorter one would smooth next to nothing."""

_YEAR = Year(LEAP_YEAR)
"""The gaps of a leap year count, whatever the year is now."""
_longest_gap_s = lru_cache(maxsize=1024)(longest_gap_s)

_NOT_A_FIELD = "is not a field of a KronJob and is left out"
_SHOWN_PROBLEMS = 5
_CONCURRENCY = {"Allow": "allow", "Forbid": "forbid", "Replace": "replace"}
_LIMITS = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
_NOT_CONVERTED = ("finalizers", "generateName")
"""Metadata that people write, unlike the rest of what the server knows."""


def _part(name: str, *members: SchemaField, is_required: bool = True) -> SchemaField:
    """A part of a CronJob, as far as it is converted."""
    return SchemaField(
        FieldType.OBJECT, name, is_required=is_required, members=members, is_open=True
    )


_text_field = partial(SchemaField, FieldType.TEXT)
_integer_field = partial(SchemaField, FieldType.INTEGER)
_TEMPLATE_METADATA = _part("metadata", *TEXTS, is_required=False)
_TEMPLATE = _part("jobTemplate", _TEMPLATE_METADATA, _part("spec"))
_METADATA = _part(
    "metadata", _text_field("name", is_required=True), _text_field("namespace"), *TEXTS
)
_SPEC = _part(
    "spec",
    _text_field("schedule", is_required=True),
    _text_field("timeZone"),
    _integer_field("startingDeadlineSeconds", least=0, most=2**63 - 1),
    _text_field("concurrencyPolicy", choices=tuple(_CONCURRENCY)),
    SchemaField(FieldType.SWITCH, "suspend"),
    *map(_integer_field, _LIMITS),
    _TEMPLATE,
)
_CRONJOB = _part(
    "",
    _text_field("apiVersion", choices=(f"{BATCH}/v1", f"{BATCH}/v1beta1")),
    _text_field("kind", choices=(CRONJOB,)),  # the items of the API server's lists have neither
    _METADATA,
    _SPEC,
)


class Migration(Frozen):
    """A CronJob and the KronJob that it becomes."""

    cronjob: Object
    manifest: Object | None
    """The KronJob; None if it cannot be migrated, and then `error` says why."""
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def namespace(self) -> str:
        """Its namespace; '' if its manifest names none."""
        return text(member(self.cronjob, "metadata"), "namespace")

    @property
    def name(self) -> str:
        """Its name, for messages also if it has none."""
        return text(member(self.cronjob, "metadata"), "name") or "?"

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def migrate(cronjob: Object, *, spread: Spread = None, now_s: int) -> Migration:
    """The KronJob for a CronJob. The notes on clock changes are about the year from `now_s` on."""
    notes: list[str] = []
    try:
        manifest = _manifest(cronjob, notes, spread, now_s)
    except KronError as error:
        reason = f"{error.message} ({error.fix})" if error.fix else error.message
        return Migration(cronjob, None, tuple(notes), reason)
    return Migration(cronjob, manifest, tuple(notes))


def _listed(problems: list[FieldProblem]) -> str:
    return "; ".join(map(str, problems[:_SHOWN_PROBLEMS]))


def _manifest(cronjob: Object, notes: list[str], spread: Spread, now_s: int) -> Object:
    problems = list(check_value("", _CRONJOB, cronjob))
    spec = member(cronjob, "spec")
    if problems:
        if text(spec, "schedule"):
            with suppress(KronError):
                _schedule(spec, notes, now_s)
        raise KronError(Code.FIELD_VALUE, _listed(problems))
    cron, zone, schedule = _schedule(spec, notes, now_s)
    made: Object = {"schedule": cron}
    if zone:
        made["timeZone"] = zone
    if window := _window(schedule, spread, notes):
        made["window"] = {"mode": "after", "duration": window}
    made["policy"] = _policy(spec, schedule, notes)
    for limit in _LIMITS:
        if spec.get(limit) is not None:
            made[limit] = spec[limit]
    made["jobTemplate"] = _template(spec, notes)
    _note_lifetime(made, notes)
    metadata = _metadata(cronjob["metadata"], notes)
    manifest = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": made}
    problems = find_problems(manifest)
    if problems:
        message = f"its KronJob would not be valid: {_listed(problems)}"
        raise KronError(Code.FIELD_VALUE, message)
    return manifest


def _note_left_out(
    path: str, values: Object, field: SchemaField, notes: list[str], why: str = _NOT_A_FIELD
) -> None:
    """Note every member that is not declared, and so not converted."""
    known = {each.name for each in field.members}
    if field is _METADATA:
        known |= {*METADATA_NAMES} - {*_NOT_CONVERTED}
    for key, value in values.items():
        if key not in known and value is not None:
            notes.append(f"{path}.{key} {why}")


def _schedule(spec: Object, notes: list[str], now_s: int) -> tuple[str, str, Schedule]:
    """The cron fields, the zone ('' for UTC) and the schedule. Other fields may be invalid."""
    _note_left_out("spec", spec, _SPEC, notes)
    translation = translate(spec["schedule"])
    notes += translation.notes
    zone = text(spec, "timeZone")
    if translation.zone:
        if zone and zone != translation.zone:
            notes.append(
                f"the zone is {translation.zone}, which the schedule names; Kubernetes ignores "
                f"spec.timeZone ({quoted(zone)}) then"
            )
        zone = translation.zone
        notes.append(f"the zone in the schedule has become spec.timeZone: {quoted(zone)}")
    if zone == "Local":
        message = 'the zone "Local" is the one of the host of kube-controller-manager'
        raise KronError(Code.ZONE_UNKNOWN, message, "name that zone")
    zone = "" if zone in ("UTC", "Etc/UTC") else zone
    schedule = _parsed(translation.cron, zone)
    notes += daylight_difference(schedule, now_s).notes
    return translation.cron, zone, schedule


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
    shortest = shortest_gap(schedule, _YEAR)
    shortest_s = 0 if shortest is None else shortest.seconds
    if isinstance(spread, str):  # auto
        window_s = min(shortest_s // _SHARE, _LONGEST_S)
        if window_s < _SHORTEST_S:
            notes.append("no window: its runs are too close together for one to help")
            return ""
        spread = (window_s - window_s % (60 if window_s >= 60 else _SHORTEST_S)) * SECOND_NS
    window = format_duration(spread)
    notes.append(f"a window of {window} after each time: its Jobs start at a second in it")
    if shortest_s and spread // SECOND_NS >= shortest_s:
        gap = format_duration(shortest_s * SECOND_NS)
        notes.append(f"the window of {window} is not shorter than the time between runs, {gap}")
    return window


def _policy(spec: Object, schedule: Schedule, notes: list[str]) -> Object:
    said = text(spec, "concurrencyPolicy") or "Allow"
    policy: Object = {"concurrency": _CONCURRENCY[said]}
    if said == "Forbid":
        notes.append(
            "concurrencyPolicy Forbid: Kubernetes delays a run until the earlier one has ended, if "
            "no other is due by then; Kron skips it"
        )
    if deadline := _deadline(spec, schedule, notes):
        policy["deadline"] = deadline
    if spec.get("suspend"):
        policy["suspend"] = True
    return policy


def _deadline(spec: Object, schedule: Schedule, notes: list[str]) -> str:
    seconds = spec.get("startingDeadlineSeconds")
    if seconds is None:
        deadline = format_duration(_longest_gap_s(schedule, _YEAR) * SECOND_NS)
        notes.append(
            "no startingDeadlineSeconds: Kubernetes starts the latest missed run however late it "
            f"is; policy.deadline {deadline}, the longest time between two runs, does the same"
        )
        return deadline
    return format_duration(seconds * SECOND_NS) if seconds < 2**32 else "876000h"


def _template(spec: Object, notes: list[str]) -> Object:
    template = spec["jobTemplate"]
    metadata = member(template, "metadata")
    for problem in reserved_keys(spec):
        notes.append(f"{problem.path} is left out: what begins with {RESERVED} is Kron's own")
    metadata = without_reserved(metadata)
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    _note_left_out("spec.jobTemplate", template, _TEMPLATE, notes)
    why = "is left out; Kubernetes ignores it too"
    _note_left_out("spec.jobTemplate.metadata", metadata, _TEMPLATE_METADATA, notes, why)
    job_spec = template["spec"]
    if _mentions(job_spec, SCHEDULED_ANNOTATION):
        notes.append(
            f"its Pods read the annotation {SCHEDULED_ANNOTATION}, which Kron does not set; the "
            "nominal time is in kron.io/nominal-time"
        )
    pods = member(job_spec, "template")
    if (own := member(pods, "metadata")) and without_reserved(own) != own:
        job_spec = {**job_spec, "template": {**pods, "metadata": without_reserved(own)}}
    return {**({"metadata": kept} if kept else {}), "spec": job_spec}


def _note_lifetime(made: Object, notes: list[str]) -> None:
    """Kron keeps a finished Job while its period could still start: its name is the lock."""
    ttl_s = made["jobTemplate"]["spec"].get("ttlSecondsAfterFinished")
    deadline = made["policy"].get("deadline", "0")
    if isinstance(ttl_s, int) and parse_duration(deadline) > ttl_s * SECOND_NS:
        notes.append(
            f"ttlSecondsAfterFinished is {ttl_s}, but Kron keeps a finished Job for the deadline, "
            f"{deadline}, so that its period cannot run twice"
        )


def _metadata(metadata: Object, notes: list[str]) -> Object:
    labels = member(metadata, "labels")
    annotations = {**member(metadata, "annotations")}
    annotations.pop(LAST_APPLIED, None)  # kubectl's own record of the CronJob
    if metadata.get("ownerReferences"):
        notes.append(
            "its ownerReferences are left out; the owner of the CronJob may undo its suspension"
        )
    _note_left_out("metadata", metadata, _METADATA, notes, "is left out")
    if labels.get("app.kubernetes.io/managed-by") == "Helm":
        notes.append(
            "it is managed by Helm: the next upgrade restores the CronJob, so change the chart"
        )
    made = {
        "name": metadata["name"],
        "namespace": metadata.get("namespace"),
        "labels": labels,
        "annotations": annotations,
    }
    return {name: value for name, value in made.items() if value}


def _mentions(value: object, word: str) -> bool:
    left = [value]  # and no recursion: nobody knows how deep it is
    while left:
        each = left.pop()
        if isinstance(each, str) and word in each:
            return True
        if isinstance(each, dict):
            left += [*each, *each.values()]
        elif isinstance(each, list):
            left += each
    return False
