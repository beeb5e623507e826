"""The vocabulary: every event that Kron logs, with its component, its level and its fields.

Names and fields never change; a new field goes at the end of its event. docs/logs.md has the same
table for people, and a test compares the two.
"""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """How much attention an event needs."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"

    def reaches(self, least: Level) -> bool:
        """Whether an event of this level is written when `least` is the lowest level to write."""
        return _SEVERITY[self] >= _SEVERITY[least]


_SEVERITY = {level: place for place, level in enumerate(Level)}


class Component(StrEnum):
    """The part of Kron that an event comes from."""

    SCHEDULER = "scheduler"
    CONTROLLER = "controller"
    EXECUTOR = "executor"
    CONSTRAINTS = "constraints"
    SEED = "seed"
    POLICY = "policy"
    RECONCILER = "reconciler"


_PERIOD = "namespace name period"
_RUN = "namespace name period? run_id"
_NOTICE = "namespace name period? run_id? about means target?"
_RECOMPUTED_FROM = "identity schedule window_duration constraints attempts engine"
"""At the end of a decision, so that it can be recomputed from its own line."""


class Event(StrEnum):
    """What happened. Each is a line of words: its name, components, levels, and then its fields.

    `?` marks an optional field. Of several components or levels, with a comma between them, the
    first is the usual one; docs/logs.md says when another one is used.
    """

    component: Component
    components: tuple[Component, ...]
    level: Level
    levels: tuple[Level, ...]
    fields: tuple[str, ...]
    """All fields, in the order in which they are written."""
    required: frozenset[str]

    def __new__(cls, line: str) -> Event:
        name, origins, grades, *fields = line.split()
        event = str.__new__(cls, name)
        event._value_ = name
        event.components = tuple(map(Component, origins.split(",")))
        event.component = event.components[0]
        event.levels = tuple(map(Level, grades.split(",")))
        event.level = event.levels[0]
        event.fields = tuple(field.removesuffix("?") for field in fields)
        event.required = frozenset(field for field in fields if not field.endswith("?"))
        return event

    # Decisions.
    SEED_COMPUTED = (
        f"seed_computed seed DEBUG {_PERIOD} "
        "seed_strategy resource_uid period_key salt seed_hash identity"
    )
    SAMPLE = (
        f"sample scheduler DEBUG {_PERIOD} "
        "distribution raw_value mapped_offset_ns candidate attempt"
    )
    CONSTRAINT_REJECT = f"constraint_reject constraints DEBUG {_PERIOD} candidate reason"
    DECISION = (
        f"decision scheduler INFO {_PERIOD} nominal window_mode window_start window_end "
        "distribution dist_params seed_strategy seed_hash salt chosen timezone "
        f"{_RECOMPUTED_FROM}"
    )
    CONSTRAINT_UNSATISFIABLE = (
        f"constraint_unsatisfiable constraints WARN {_PERIOD} window_start window_end reason "
        "nominal window_mode distribution dist_params seed_strategy seed_hash salt timezone "
        f"{_RECOMPUTED_FROM}"
    )
    RESCHEDULE = f"reschedule scheduler INFO {_PERIOD} previous_chosen new_chosen reason"

    # Explanations.
    EXPLAIN_START = f"explain_start scheduler INFO {_PERIOD}"
    EXPLAIN_STEP = "explain_step scheduler INFO detail namespace? name? period?"
    EXPLAIN_RESULT = "explain_result scheduler INFO chosen namespace? name? period? reason?"
    EXPLAIN_END = f"explain_end scheduler INFO {_PERIOD}"

    # The end of a period.
    TRIGGER = f"trigger scheduler INFO {_PERIOD} chosen now"
    JOB_CREATED = f"job_created executor INFO {_PERIOD} job uid chosen"
    JOB_EXISTS = f"job_exists reconciler INFO {_PERIOD} job uid"
    JOB_FINISHED = (
        "job_finished reconciler INFO,WARN namespace name period? job result seconds "
        "reason? message?"
    )
    SKIPPED_CONCURRENCY = f"skipped_concurrency policy WARN {_PERIOD} policy active_job"
    REPLACED_JOB = f"replaced_job executor WARN {_PERIOD} old_job new_job"
    MISSED_DEADLINE = (
        f"missed_deadline policy WARN {_PERIOD} chosen deadline now reason? count? first_period?"
    )

    # Runs on a host.
    MANUAL_RUN = "manual_run controller INFO namespace name run_id"
    WAITING = f"waiting executor INFO {_RUN} reason"
    STARTED = f"started executor INFO {_RUN} pid chosen?"
    EXITED = (
        f"exited executor INFO,WARN {_RUN} exit_code? signal? seconds? reason? "
        "cpu_seconds? peak_memory? left?"
    )
    NOT_RETRIED = f"not_retried executor WARN {_RUN} reason"
    TIMEOUT = f"timeout executor WARN {_RUN} timeout signal"
    ADOPTED = f"adopted reconciler INFO {_RUN} pid"

    # What people hear of a run or a period.
    NOTICE_SENT = f"notice_sent executor INFO {_NOTICE}"
    NOTICE_LOST = f"notice_lost executor ERROR {_NOTICE} reason"

    # The program.
    READY = "ready controller INFO version jobs upgraded_from?"
    LEADER = "leader controller INFO identity leads"
    PAUSED = "paused controller ERROR cause reason"
    RESUMED = "resumed controller INFO cause seconds"
    STOPPING = "stopping controller INFO reason active"
    RELOAD = "reload controller INFO,ERROR result jobs added? changed? removed? error?"
    UPGRADE = "upgrade controller INFO,ERROR result version? error?"
    CONFIG_IGNORED = "config_ignored controller DEBUG file reason"
    SUSPENDED = "suspended policy INFO namespace name suspend"
    CLOCK_CHANGED = "clock_changed scheduler WARN now shift_s? namespace? name?"
    STATE_REMOVED = "state_removed reconciler INFO namespace name"
    STATE_CORRUPT = "state_corrupt reconciler ERROR namespace? name? file set_aside error"
    ERROR = (
        "error controller,scheduler,executor,constraints,seed,policy,reconciler ERROR,WARN "
        "namespace name period? operation error"
    )
