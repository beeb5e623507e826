"""The vocabulary: every event that Kron logs, with its component, its level and its fields.

Names and fields are those of seed 002, which promises that they stay; new fields go at the end of
an event. docs/logs.md has the same table for people, and a test compares the two.
"""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """How much an event asks for attention."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"

    def reaches(self, least: Level) -> bool:
        """Whether an event of this level is written where `least` is the least that is wanted."""
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
_RECOMPUTED_FROM = "identity schedule window_duration constraints attempts engine"
"""What DESIGN section 8 appends, so that a decision can be recomputed from its own line."""


class Event(StrEnum):
    """What happened: its name, component, levels and fields. `?` marks a field that may lack.

    Where there are several levels or components the first is the usual one, and docs/logs.md says
    when it is another.
    """

    components: tuple[Component, ...]
    levels: tuple[Level, ...]
    fields: tuple[str, ...]
    """All fields, in the order in which they are written."""
    required: frozenset[str]

    def __new__(
        cls, name: str, components: tuple[Component, ...], levels: tuple[Level, ...], fields: str
    ) -> Event:
        event = str.__new__(cls, name)
        event._value_ = name
        event.components = components
        event.levels = levels
        words = fields.split()
        event.fields = tuple(word.removesuffix("?") for word in words)
        event.required = frozenset(word for word in words if not word.endswith("?"))
        return event

    @property
    def component(self) -> Component:
        """The component that it usually comes from."""
        return self.components[0]

    @property
    def level(self) -> Level:
        """The level that it usually has."""
        return self.levels[0]

    # Decisions.
    SEED_COMPUTED = (
        "seed_computed",
        (Component.SEED,),
        (Level.DEBUG,),
        f"{_PERIOD} seed_strategy resource_uid period_key salt seed_hash identity",
    )
    SAMPLE = (
        "sample",
        (Component.SCHEDULER,),
        (Level.DEBUG,),
        f"{_PERIOD} distribution raw_value mapped_offset_ns candidate attempt",
    )
    CONSTRAINT_REJECT = (
        "constraint_reject",
        (Component.CONSTRAINTS,),
        (Level.DEBUG,),
        f"{_PERIOD} candidate reason",
    )
    DECISION = (
        "decision",
        (Component.SCHEDULER,),
        (Level.INFO,),
        f"{_PERIOD} nominal window_mode window_start window_end distribution dist_params "
        f"seed_strategy seed_hash salt chosen timezone {_RECOMPUTED_FROM}",
    )
    CONSTRAINT_UNSATISFIABLE = (
        "constraint_unsatisfiable",
        (Component.CONSTRAINTS,),
        (Level.WARN,),
        f"{_PERIOD} window_start window_end reason nominal window_mode distribution dist_params "
        f"seed_strategy seed_hash salt timezone {_RECOMPUTED_FROM}",
    )
    RESCHEDULE = (
        "reschedule",
        (Component.SCHEDULER,),
        (Level.INFO,),
        f"{_PERIOD} previous_chosen new_chosen reason",
    )

    # Explanations.
    EXPLAIN_START = ("explain_start", (Component.SCHEDULER,), (Level.INFO,), _PERIOD)
    EXPLAIN_STEP = (
        "explain_step",
        (Component.SCHEDULER,),
        (Level.INFO,),
        "detail namespace? name? period?",
    )
    EXPLAIN_RESULT = (
        "explain_result",
        (Component.SCHEDULER,),
        (Level.INFO,),
        "chosen namespace? name? period? reason?",
    )
    EXPLAIN_END = ("explain_end", (Component.SCHEDULER,), (Level.INFO,), _PERIOD)

    # The end of a period.
    TRIGGER = ("trigger", (Component.SCHEDULER,), (Level.INFO,), f"{_PERIOD} chosen now")
    JOB_CREATED = ("job_created", (Component.EXECUTOR,), (Level.INFO,), f"{_PERIOD} job uid chosen")
    JOB_EXISTS = ("job_exists", (Component.RECONCILER,), (Level.INFO,), f"{_PERIOD} job uid")
    SKIPPED_CONCURRENCY = (
        "skipped_concurrency",
        (Component.POLICY,),
        (Level.WARN,),
        f"{_PERIOD} policy active_job",
    )
    REPLACED_JOB = (
        "replaced_job",
        (Component.EXECUTOR,),
        (Level.WARN,),
        f"{_PERIOD} old_job new_job",
    )
    MISSED_DEADLINE = (
        "missed_deadline",
        (Component.POLICY,),
        (Level.WARN,),
        f"{_PERIOD} chosen deadline now reason? count? first_period?",
    )

    # Runs on a host.
    MANUAL_RUN = ("manual_run", (Component.CONTROLLER,), (Level.INFO,), "namespace name run_id")
    WAITING = ("waiting", (Component.EXECUTOR,), (Level.INFO,), f"{_RUN} reason")
    STARTED = ("started", (Component.EXECUTOR,), (Level.INFO,), f"{_RUN} pid chosen?")
    EXITED = (
        "exited",
        (Component.EXECUTOR,),
        (Level.INFO, Level.WARN),
        f"{_RUN} exit_code? signal? seconds? reason?",
    )
    TIMEOUT = ("timeout", (Component.EXECUTOR,), (Level.WARN,), f"{_RUN} timeout signal")
    ADOPTED = ("adopted", (Component.RECONCILER,), (Level.INFO,), f"{_RUN} pid")

    # The program.
    READY = ("ready", (Component.CONTROLLER,), (Level.INFO,), "version jobs")
    LEADER = ("leader", (Component.CONTROLLER,), (Level.INFO,), "identity leads")
    STOPPING = ("stopping", (Component.CONTROLLER,), (Level.INFO,), "reason active")
    RELOAD = (
        "reload",
        (Component.CONTROLLER,),
        (Level.INFO, Level.ERROR),
        "result jobs added? changed? removed? error?",
    )
    CONFIG_IGNORED = (
        "config_ignored",
        (Component.CONTROLLER,),
        (Level.DEBUG,),
        "file reason",
    )
    SUSPENDED = ("suspended", (Component.POLICY,), (Level.INFO,), "namespace name suspend")
    CLOCK_CHANGED = (
        "clock_changed",
        (Component.SCHEDULER,),
        (Level.WARN,),
        "now shift_s? namespace? name?",
    )
    STATE_CORRUPT = (
        "state_corrupt",
        (Component.RECONCILER,),
        (Level.ERROR,),
        "namespace? name? file set_aside error",
    )
    ERROR = (
        "error",
        (Component.CONTROLLER, *(c for c in Component if c is not Component.CONTROLLER)),
        (Level.ERROR, Level.WARN),
        "namespace name period? operation error",
    )
