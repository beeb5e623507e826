"""Every field of a KronJob's status, declared once. `resource.status` writes and reads them."""

from __future__ import annotations

from kron.engine.ledger import MAX_HANDLED
from kron.kube.resource.schema.model import SchemaField, integer, list_of, structure, text
from kron.kube.resource.schema.rules import INSTANT

_LONGEST_TEXT = 32_768
MOST_ACTIVE = 1_000
"""More are not listed, but they count."""
CONDITIONS = {
    "Ready": "the spec is valid and the job is being scheduled",
    "InvalidSpec": "the spec is invalid: the message says where and why; nothing is started",
    "SchedulingError": "a Job could not be created; the message has the API server's answer",
    "Unschedulable": "the constraints accepted no second of the last period",
}
"""The conditions, and what each means when it is True."""


def _instant(name: str, description: str) -> SchemaField:
    return text(name, description, pattern=INSTANT, longest=20)


def _long_text(name: str, description: str) -> SchemaField:
    return text(name, description, longest=_LONGEST_TEXT)


_OUTCOMES = ("executed", "skipped", "missed", "unschedulable")

_LEDGER = structure(
    "ledger",
    "What the operator remembers: which periods have ended and never run again. Do not edit it. "
    "Without it, the operator sees the job for the first time and owes no earlier period.",
    integer("schema", "The version of the ledger's form.", least=1),
    _long_text(
        "schedule", "The schedule when the operator last looked at the job, to notice edits."
    ),
    _instant("since", "No run chosen before this instant is owed."),
    _instant("handled_through", "Every period up to this one has ended."),
    list_of(
        "handled",
        "The periods after handled_through that have ended, too.",
        longest=MAX_HANDLED,
        items=_instant("", "The nominal time of a period."),
    ),
    list_of(
        "starting",
        "The periods whose Job is about to be created.",
        longest=MAX_HANDLED,
        items=structure(
            "",
            "A period that is about to start.",
            _instant("period", "Its nominal time."),
            _instant("chosen", "Its chosen time."),
            text("run_id", "The id of its one run.", longest=64),
            _long_text("schedule", "The schedule that chose the time."),
        ),
    ),
    structure(
        "last",
        "The period that ended last.",
        _instant("period", "Its nominal time."),
        _instant("chosen", "Its chosen time; left out if none was chosen."),
        text("outcome", "How it ended.", choices=_OUTCOMES),
        _long_text("reason", "Why, if it was not executed."),
    ),
    is_open=True,  # an operator newer than this definition must not lose its memory
)

_ACTIVE = list_of(
    "active",
    "The Jobs that have not finished.",
    longest=MOST_ACTIVE,
    items=structure(
        "",
        "A Job that has not finished.",
        text("name", "The Job's name.", is_required=True, longest=253),
        text("uid", "The Job's uid.", longest=64),
        _instant("periodID", "Its period; left out for a run that was triggered by hand."),
    ),
)

_CONDITIONS = list_of(
    "conditions",
    "The conditions. "
    + "; ".join(f"{name}: {meaning}" for name, meaning in CONDITIONS.items())
    + ".",
    longest=16,
    items=structure(
        "",
        "Whether something is true, since when, and why.",
        text("type", "What it is about.", is_required=True, longest=64),
        text(
            "status", "Whether it is true.", is_required=True, choices=("True", "False", "Unknown")
        ),
        text("reason", "Why, in one word for programs.", longest=1024),
        _long_text("message", "Why, for people."),
        _instant("lastTransitionTime", "Since when that has been its status."),
        integer("observedGeneration", "The generation of the spec that it is about.", least=0),
    ),
)

STATUS = structure(
    "status",
    "How the last period ended, what comes next, and the operator's ledger. Written by the "
    "operator.",
    integer("observedGeneration", "The generation of the spec that this status is about.", least=0),
    _instant("lastPeriodID", "The period that ended last."),
    _instant("lastNominalTime", "When it was due."),
    _instant("lastChosenTime", "The second that was chosen for it; left out if none was chosen."),
    text(
        "lastOutcome",
        "How it ended. executed: its Job was created. skipped: an earlier run was active. "
        "missed: it was too late, or its Job could not be created. unschedulable: the "
        "constraints accepted no second.",
        choices=_OUTCOMES,
    ),
    _long_text("lastReason", "Why, if it was not executed."),
    _instant("nextPeriodID", "The period that comes next."),
    _instant("nextNominalTime", "When it is due."),
    _instant("nextChosenTime", "The second that is chosen for it."),
    _ACTIVE,
    _LEDGER,
    _CONDITIONS,
)
