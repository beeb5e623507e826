"""States of older schemas, brought up to date one version at a time.

Each function takes the JSON value of a state of its version and gives that of the next one. It
never changes once a version has been released.
"""

from __future__ import annotations

from kron.krond.state.fields import Fields, nanoseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FLAT_KEYS = frozenset(
    (
        "schema",
        "identity",
        "last_handled_period",
        "last_chosen",
        "last_run",
        "last_exit_code",
        "active_pid",
        "seed",
    )
)
_EPOCH = "1970-01-01T00:00:00Z"
_FRACTION = ".000000000Z"


def from_flat(value: object) -> dict[str, object]:
    """Schema 1, the flat record, as schema 2.

    It does not say which schedule it belongs to. An empty one is none, so the engine takes the job
    for edited: what was handled stays handled, and nothing from before is owed. Nor does it say
    when the active process started, on which boot, or as which run: it gets a run id of its own.
    """
    fields = Fields(value, _FLAT_KEYS, "a state of schema 1")
    period, chosen = fields.value("last_handled_period"), fields.value("last_chosen")
    fields.instant("last_handled_period")
    fields.instant("last_chosen")
    started = _with_nanoseconds(fields.value("last_run"))
    exit_code, pid = fields.integer("last_exit_code"), fields.integer("active_pid")
    last_run = [period, chosen, "executed", "", "", started, None, exit_code, None]
    run = {
        "run_id": f"schema1-{pid}",
        "period": period,
        "chosen": chosen,
        "started": started,
        "pid": pid,
        "ticks": None,
        "boot_id": "",
    }
    seed = fields.value("seed")
    return {
        "schema": 2,
        "identity": fields.value("identity"),
        "boot_id": "",
        "ledger": {
            "schema": 1,
            "schedule": "",
            "since": _EPOCH if period is None else period,
            "handled_through": period,
            "handled": [],
            "starting": [],
            "last": None,
        },
        "planned": [],
        "active": [] if pid is None else [run],
        "seed": {"strategy": "", "salt": ""} if seed is None else seed,
        "last_run": None if started is None else last_run,
        "history": [],
    }


def _with_nanoseconds(value: object) -> object:
    """The time of the last run, which schema 1 may give in whole seconds."""
    if type(value) is str and len(value) == len(_EPOCH):
        value = value[:-1] + _FRACTION
    nanoseconds(value, "last_run")
    return value


MIGRATIONS: Mapping[int, Callable[[object], dict[str, object]]] = {1: from_flat}
"""By the schema that they take."""
