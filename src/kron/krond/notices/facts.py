"""The facts of a notice: what a hook gets in its environment, and a mail in its text."""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.core.instant import optional_text
from kron.jobs.hooks import Happening
from kron.krond.notices.notice import Notice
from kron.krond.output.wire import Closed
from kron.krond.process.processes import HOOK_EVENT
from kron.krond.result import signal_name
from kron.krond.state.record import attempt_of


def facts_of(notice: Notice, job: str, output: Closed) -> dict[str, str]:
    """By the name of the variable; '' for what does not apply."""
    ended = notice.ended
    return {
        HOOK_EVENT.decode(): notice.happening,
        "KRON_JOB": job,
        "KRON_PERIOD": notice.period or "",
        "KRON_CHOSEN": optional_text(ended.chosen_s) or "",
        "KRON_RUN_ID": ended.run_id,
        "KRON_ATTEMPT": str(attempt_of(ended.run_id)[1]) if ended.run_id else "",
        "KRON_OUTCOME": ended.outcome,
        "KRON_EXIT_CODE": "" if ended.exit_code is None else str(ended.exit_code),
        "KRON_SIGNAL": "" if ended.signal is None else signal_name(ended.signal),
        "KRON_REASON": ended.reason,
        "KRON_SECONDS": seconds_text(notice),
        "KRON_COUNT": str(notice.count),
        "KRON_OUTPUT": output.path,
    }


def seconds_text(notice: Notice) -> str:
    """How long the run took; '' if that is not known."""
    started_ns, ended_ns = notice.ended.started_ns, notice.ended.ended_ns
    if started_ns is None or ended_ns is None:
        return ""
    return f"{max(0, ended_ns - started_ns) / SECOND_NS:.3f}"


def in_words(notice: Notice) -> str:
    """What happened, as the end of a sentence that begins with the job."""
    ended, many = notice.ended, notice.count > 1
    match notice.happening:
        case Happening.START:
            return "has started"
        case Happening.SUCCESS:
            return "succeeded"
        case Happening.MISSED if many:
            return f"missed {notice.count:,} periods, the last one {notice.period}"
        case Happening.MISSED:
            return f"missed its period {notice.period}"
        case Happening.FAILURE if ended.exit_code is not None:
            return f"failed with exit code {ended.exit_code}"
        case Happening.FAILURE if ended.signal is not None:
            return f"was ended by {signal_name(ended.signal)}"
        case Happening.FAILURE:
            return "did not succeed, as far as krond knows"
