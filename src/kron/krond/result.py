"""How a run or a period ended, from the JSON of `krond status` and `krond history`."""

from __future__ import annotations

from collections.abc import Mapping

from kron.krond.state.record import succeeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    """The same, with the reason why krond stopped the run, if it did."""
    result, stopped_for = result_text(ended), ended["reason"]
    if ended["exit_code"] is None and ended["signal"] is None:
        if not ended["started"]:
            return result
        stopped_for = stopped_for.rpartition("; ")[0]  # before why the result is unknown
    return f"{stopped_for} ({result})" if stopped_for else result


def signal_name(number: int) -> str:
    """SIGTERM for 15; a number for those without a name."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
