"""A KronJob: an object of the API server as a value for the engine and the logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from kron.core.cron import REBOOT
from kron.core.errors import SHOWN_PROBLEMS, Code, KronError, ParseError, visible
from kron.core.frozen import Frozen, derived
from kron.core.schedule import Schedule
from kron.core.tokens import is_fuzzy
from kron.engine.job import Job
from kron.jobs.entry import read_schedule
from kron.kube.api_object import duration_ns, instant_s, integer, member, text
from kron.kube.resource.composition import SCHEDULE, compose
from kron.kube.resource.schema.definition import GROUP, VERSION
from kron.kube.resource.schema.rule import is_match
from kron.kube.resource.schema.rules import says_policy
from kron.kube.resource.schema.validate import FieldProblem, check, check_metadata, check_spec
from kron.kube.shallow import DEEPEST, is_shallow

API_VERSION = f"{GROUP}/{VERSION}"
KIND = "KronJob"

DEFAULT_SUCCESSFUL_LIMIT = 3
DEFAULT_FAILED_LIMIT = 1

_NAMES = ("metadata", "metadata.name", "metadata.namespace")
_TOO_DEEP = f"it is nested too deeply, {DEEPEST} levels are the most"
_ENGINE_SAYS_MORE = (Code.FIELD_FORM, Code.VALUE_UNKNOWN)


class Metadata(Frozen):
    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    is_deleting: bool
    created_s: int = 0


class KronJob(Frozen):
    """A KronJob whose spec is valid. The journal calls it an entry."""

    namespace: str
    name: str
    uid: str
    """Tells it apart from an earlier one of the same name. Logged, never hashed."""
    schedule_text: str
    """Everything that the spec says about the schedule, as one text. Logs show it."""
    schedule: Schedule
    """With the deadline that applies, the spec's own or a default."""
    template: bytes
    """`spec.jobTemplate` as compact JSON: it takes a tenth of the memory that objects would."""
    successful_limit: int = DEFAULT_SUCCESSFUL_LIMIT
    failed_limit: int = DEFAULT_FAILED_LIMIT
    written: Schedule | None = None
    """The schedule as the spec has it, if it names no deadline and got one."""

    job: Job = derived()
    """The part that the engine needs."""

    def __post_init__(self) -> None:
        self._derive(job=Job(self.identity, self.schedule, self.written))

    @property
    def identity(self) -> str:
        """What seeds are made from: the same after a restore from Git."""
        return f"{self.namespace}/{self.name}"


class InvalidSpec(KronError):  # noqa: N818 (the name of the condition that it becomes)
    """A resource that is not a valid KronJob, with all of its problems."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = tuple(problems)[:SHOWN_PROBLEMS]
        first = self.problems[0]
        super().__init__(first.code, f"{first.path}: {first.message}", fix=first.fix)
        self.args = (self.problems,)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def read_metadata(obj: object) -> Metadata:
    """The metadata of an object of the API server, whether its name is valid or not."""
    metadata = member(obj, "metadata")
    return Metadata(
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        uid=text(metadata, "uid"),
        generation=integer(metadata, "generation"),
        resource_version=text(metadata, "resourceVersion"),
        is_deleting=isinstance(metadata.get("deletionTimestamp"), str),
        created_s=instant_s(metadata, "creationTimestamp") or 0,
    )


def read_kronjob(obj: object, default_deadline_ns: int = 0) -> KronJob:
    """The KronJob that an object describes; `InvalidSpec` with all problems if it is invalid.

    `default_deadline_ns`: the deadline of a KronJob that names none.
    """
    metadata = read_metadata(obj)
    spec = member(obj, "spec")
    # The API server checks the rest of its metadata.
    names = [each for each in check_metadata(obj, is_stored=True) if each.path in _NAMES]
    problems = [*names, *check_spec(obj)]
    schedule_text, schedule = _schedule(spec, f"{metadata.namespace}/{metadata.name}", problems)
    template = _template(spec, problems)
    if problems or schedule is None:
        raise InvalidSpec(problems)
    written = None
    if default_deadline_ns and not is_match(says_policy("deadline"), schedule_text):
        owner = f"{metadata.namespace}/{metadata.name}" if is_fuzzy(schedule_text) else ""
        written, schedule = schedule, _with_deadline(schedule_text, owner, default_deadline_ns)
    return KronJob(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        schedule_text,
        schedule,
        template,
        integer(spec, "successfulJobsHistoryLimit", DEFAULT_SUCCESSFUL_LIMIT),
        integer(spec, "failedJobsHistoryLimit", DEFAULT_FAILED_LIMIT),
        written,
    )


def read_stored(obj: object) -> KronJob:
    """The KronJob of a cluster, with the deadline that its operator has reported for it.

    `InvalidSpec` with all problems if it is invalid.
    """
    status = member(obj, "status")
    is_about_it = integer(status, "observedGeneration") == read_metadata(obj).generation
    return read_kronjob(obj, (is_about_it and duration_ns(status, "deadline")) or 0)


def find_problems(obj: object, namespace: str = "default") -> list[FieldProblem]:
    """Everything that the schema or the engine finds wrong with an object of a file.

    `namespace` is where it would be created if it names none itself.
    """
    problems = check(obj)
    metadata, spec = member(obj, "metadata"), member(obj, "spec")
    identity = f"{text(metadata, 'namespace') or namespace}/{text(metadata, 'name')}"
    if any(problem.path.startswith("metadata") for problem in problems):
        identity = "namespace/name"  # its schedule is checked even if its names are invalid
    _schedule(spec, identity, problems)
    _template(spec, problems)
    return problems


def find_all_problems(obj: object, namespace: str = "default") -> list[FieldProblem]:
    """The same, and what an API server would refuse in the template when the Job is created."""
    from kron.kube.resource.schema.job_template import check_template

    problems = find_problems(obj, namespace)
    known = {problem.path for problem in problems}
    found = [
        each for each in check_template(member(obj, "spec")) if not _is_under(each.path, known)
    ]
    return problems + found[:SHOWN_PROBLEMS]


def _schedule(
    spec: Mapping[str, object], identity: str, problems: list[FieldProblem]
) -> tuple[str, Schedule | None]:
    """The spec's schedule and its text. What is wrong with it is added to the problems."""
    is_too_long = any(problem.code is Code.LIMIT for problem in problems)
    composition = None if is_too_long else compose(spec)
    if composition is None:
        return "", None
    said = composition.text
    try:
        schedule = read_schedule(said, identity) if is_fuzzy(said) else _shared_schedule(said)
        Job(identity, schedule)  # the engine has further limits
    except ParseError as error:
        _join(problems, list(map(composition.locate, error.problems)))
        return said, None
    except KronError as error:
        path = "spec.window" if "window" in spec else SCHEDULE
        _join(problems, [FieldProblem(path, error.message, error.fix, error.code)])
        return said, None
    return said, schedule


def _join(problems: list[FieldProblem], found: list[FieldProblem]) -> None:
    """Add the engine's problems, which replace those of the schema about the form of a field."""
    paths = {problem.path for problem in found}
    problems[:] = [p for p in problems if p.path not in paths or p.code not in _ENGINE_SAYS_MORE]
    known = {problem.path for problem in problems}
    problems += [problem for problem in found if not _is_under(problem.path, known)]


def _is_under(path: str, known: set[str]) -> bool:
    """Whether a field, or one that it is part of, has a problem already."""
    return any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in known)


@lru_cache(maxsize=4096)
def _with_deadline(text: str, identity: str, deadline_ns: int) -> Schedule:
    """`identity`: '' for a schedule that is the same for every job."""
    schedule = read_schedule(text, identity) if identity else _shared_schedule(text)
    return schedule.replace(policy=schedule.policy.replace(deadline_ns=deadline_ns))


@lru_cache(maxsize=4096)
def _shared_schedule(text: str) -> Schedule:
    """Thousands of jobs share a few schedules, and each schedule takes a kilobyte or two."""
    schedule = read_schedule(text, "")
    if schedule.is_at_boot:
        message = f"{REBOOT} is for the jobs of krond: a cluster has no boot"
        fix = "a Job runs once; a DaemonSet runs on each node as it starts"
        raise ParseError.single(text, Code.CRON_SHORTHAND, message, fix=fix)
    return schedule


def _template(spec: Mapping[str, object], problems: list[FieldProblem]) -> bytes:
    import json

    try:
        written = json.dumps(spec.get("jobTemplate"), separators=(",", ":"), allow_nan=False)
        template = written.encode("ascii")
        if is_shallow(template):
            return template
        problems.append(FieldProblem("spec.jobTemplate", _TOO_DEEP))
    except RecursionError:
        problems.append(FieldProblem("spec.jobTemplate", _TOO_DEEP))
    except (TypeError, ValueError) as error:
        message = f"it holds what JSON does not have: {visible(str(error))[:200]}"
        problems.append(FieldProblem("spec.jobTemplate", message, "put the value in quotes"))
    return b""
