"""How a run or a period ended, from the JSON of `krond status` and `krond history`."""

from __future__ import annotations

from collections.abc import Mapping

from kron.core.errors import visible
from kron.krond.state.record import succeeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOWN_REASON = 100
"""How long a reason is at most in a table, or in the line of a monitor."""


def result_text(ended: Mapping[str, Any]) -> str:
    exit_code, signal = ended["exit_code"], ended["signal"]
    if exit_code is not None:
        is_ok = succeeded(
            *(ended["outcome"], ended["reason"]),
            *(ended["started"], ended["ended"], exit_code, signal),
        )
        return "ok" if is_ok else f"exit code {exit_code}"
    if signal is not None:
        return str(signal)
    if ended["outcome"] not in ("executed", "manual"):
        return str(ended["outcome"])
    return "ended, result unknown" if ended["started"] or not ended["ended"] else "not started"


def result_in_words(ended: Mapping[str, Any]) -> str:
    """The same, with the reason why krond stopped the run or never started it, if it has one."""
    result, stopped_for = result_text(ended), ended["reason"]
    if ended["exit_code"] is None and ended["signal"] is None:
        if not ended["started"]:
            return ": ".join(filter(None, (result, reason_in_short(ended))))
        stopped_for = stopped_for.rpartition("; ")[0]  # before why the result is unknown
    return f"{stopped_for} ({result})" if stopped_for else result


def reason_in_short(ended: Mapping[str, Any]) -> str:
    """The reason on one line, cut if it is long, by a path for example."""
    reason = visible(ended["reason"])
    return reason if len(reason) <= SHOWN_REASON else f"{reason[: SHOWN_REASON - 1]}…"


def signal_name(number: int) -> str:
    """SIGTERM for 15; a number for those without a name."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
