"""How a run or a period ended, from the JSON of `krond status` and `krond history`.

A run succeeded if its exit code is 0 and krond has no reason to add: one that was stopped for its
timeout or for a later run has not done its work, whatever its exit code says.
"""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def succeeded(ended: Mapping[str, Any]) -> bool | None:
    """None: nothing ran, or nobody saw how it ended."""
    if ended["exit_code"] is None and ended["signal"] is None:
        return None
    return ended["exit_code"] == 0 and not ended["reason"]


def result_text(ended: Mapping[str, Any]) -> str:
    if ended["exit_code"] is not None:
        return "ok" if succeeded(ended) else f"exit code {ended['exit_code']}"
    if ended["signal"] is not None:
        return str(ended["signal"])
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
