"""Every field of a KronJob's status, declared once. `status` writes and reads them."""

from __future__ import annotations

from kron.engine.ledger import MAX_HANDLED
from kron.kube.resource.field import Field, Kind
from kron.kube.resource.patterns import INSTANT

_LONGEST_TEXT = 32_768
MOST_ACTIVE = 1_000
"""More are not told of, though they count."""
CONDITIONS = {
    "Ready": "the spec is right and the job is being scheduled",
    "InvalidSpec": "the spec is wrong: the message says where and how; nothing is started",
    "SchedulingError": "a Job could not be made; the message has what the API server said",
    "Unschedulable": "the last period had no second that the constraints accept",
}
"""The conditions, and what each means when it is True."""


def _instant(name: str, description: str) -> Field:
    return Field(name, Kind.TEXT, description, pattern=INSTANT, longest=20)


def _text(name: str, description: str) -> Field:
    return Field(name, Kind.TEXT, description, longest=_LONGEST_TEXT)


_OUTCOMES = ("executed", "skipped", "missed", "unschedulable")

_LEDGER = Field(
    "ledger",
    Kind.OBJECT,
    "What the operator remembers: which periods have ended, and so never run again. Not to be "
    "edited; without it the job counts as seen for the first time, and owes nothing from before.",
    is_open=True,  # an operator newer than this definition must not lose its memory
    members=(
        Field("schema", Kind.INTEGER, "The version of the ledger's form.", least=1),
        _text("schedule", "The schedule when the job was last looked at, by which edits show."),
        _instant("since", "Nothing chosen before this instant is owed."),
        _instant("handled_through", "Every period up to this one has ended."),
        Field(
            "handled",
            Kind.LIST,
            "The periods after handled_through that have ended too.",
            longest=MAX_HANDLED,
            items=_instant("", "The nominal time of a period."),
        ),
        Field(
            "starting",
            Kind.LIST,
            "The periods whose Job is about to be made.",
            longest=MAX_HANDLED,
            items=Field(
                "",
                Kind.OBJECT,
                "A period that is about to start.",
                members=(
                    _instant("period", "Its nominal time."),
                    _instant("chosen", "Its chosen time."),
                    Field("run_id", Kind.TEXT, "The id of its one run.", longest=64),
                ),
            ),
        ),
        Field(
            "last",
            Kind.OBJECT,
            "The period that ended last.",
            members=(
                _instant("period", "Its nominal time."),
                _instant("chosen", "Its chosen time; left out if it had none."),
                Field("outcome", Kind.TEXT, "How it ended.", choices=_OUTCOMES),
                _text("reason", "Why, if it was not executed."),
            ),
        ),
    ),
)

_ACTIVE = Field(
    "active",
    Kind.LIST,
    "The Jobs that have not finished.",
    longest=MOST_ACTIVE,
    items=Field(
        "",
        Kind.OBJECT,
        "A Job that has not finished.",
        members=(
            Field("name", Kind.TEXT, "The Job's name.", is_required=True, longest=253),
            Field("uid", Kind.TEXT, "The Job's uid.", longest=64),
            _instant("periodID", "Its period; left out for a run that someone triggered."),
        ),
    ),
)

_CONDITIONS = Field(
    "conditions",
    Kind.LIST,
    "What is so: " + "; ".join(f"{name}: {text}" for name, text in CONDITIONS.items()) + ".",
    longest=16,
    items=Field(
        "",
        Kind.OBJECT,
        "Whether something is so, since when, and why.",
        members=(
            Field("type", Kind.TEXT, "What it is about.", is_required=True, longest=64),
            Field(
                "status",
                Kind.TEXT,
                "Whether it is so.",
                is_required=True,
                choices=("True", "False", "Unknown"),
            ),
            Field("reason", Kind.TEXT, "Why, in one word for programs.", longest=1024),
            _text("message", "Why, for people."),
            _instant("lastTransitionTime", "Since when it is so."),
            Field(
                "observedGeneration",
                Kind.INTEGER,
                "The generation of the spec that it speaks of.",
                least=0,
            ),
        ),
    ),
)

STATUS = Field(
    "status",
    Kind.OBJECT,
    "What became of the last period, what comes next, and what is remembered. Written by the "
    "operator.",
    members=(
        Field(
            "observedGeneration",
            Kind.INTEGER,
            "The generation of the spec that this status speaks of.",
            least=0,
        ),
        _instant("lastPeriodID", "The period that ended last."),
        _instant("lastNominalTime", "When it was due."),
        _instant("lastChosenTime", "The second that was chosen for it; left out if none was."),
        Field(
            "lastOutcome",
            Kind.TEXT,
            "How it ended. executed: its Job was made. skipped: an earlier run was active. missed: "
            "it was too late, or its Job could not be made. unschedulable: the constraints left "
            "no second.",
            choices=_OUTCOMES,
        ),
        _text("lastReason", "Why, if it was not executed."),
        _instant("nextPeriodID", "The period that comes next."),
        _instant("nextNominalTime", "When it is due."),
        _instant("nextChosenTime", "The second that is chosen for it."),
        _ACTIVE,
        _LEDGER,
        _CONDITIONS,
    ),
)
