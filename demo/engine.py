"""What the engine can show: `make demo`. It reads no clock and runs no job; it takes a second.

Every number printed is computed here and now by the library, from the inputs that are shown.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta

import kron
from kron.core.instant import from_text, to_text
from kron.engine import (
    Action,
    Job,
    Ledger,
    Reschedule,
    Settle,
    SettleMany,
    Start,
    recover,
    step,
)

COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ
NIGHT = datetime(2026, 3, 1, tzinfo=UTC)
BACKUP = "0 2 * * * @win(after,3h)"
MESSAGES = (
    "0 10 * * * @tz(Europe/Paris) @win(around,6h) @dist(skewLate,shape=2.5) "
    "@seed(daily,salt=msgs) @only(dow=MON-FRI;between=08:00-12:00)"
)


def main() -> None:
    """Five short scenes."""
    spread_a_fleet()
    explain_a_decision()
    compare_machines()
    live_through_a_bad_night()
    refuse_a_bad_line()


def spread_a_fleet() -> None:
    """Three hundred backups, with cron and with Kron."""
    title("300 nightly backups", "0 2 * * *   against   " + BACKUP)
    schedule = kron.parse_schedule(BACKUP)
    nominal = schedule.next_nominal(NIGHT)
    quarters: Counter[int] = Counter()
    for host in range(300):
        chosen = kron.decide(schedule, identity=f"host{host}:backup", nominal=nominal).chosen_time
        assert chosen is not None
        quarters[(chosen - nominal) // timedelta(minutes=15)] += 1
    for quarter in range(12):
        at = (nominal + timedelta(minutes=15 * quarter)).strftime("%H:%M")
        cron = 300 if quarter == 0 else 0
        bar = paint("█" * quarters[quarter], "32")
        print(f"  {at}  cron {cron:>3}  kron {quarters[quarter]:>3} {bar}")


def explain_a_decision() -> None:
    """Why a job runs when it runs."""
    title("why it runs when it runs", MESSAGES)
    schedule = kron.parse_schedule(MESSAGES)
    friday = schedule.next_nominal(datetime(2026, 3, 6, tzinfo=UTC))
    trace = kron.trace(schedule, identity="msgs/paris", nominal=friday)
    decision = trace.decision
    print(f"  period   {decision.period_id}")
    print(f"  window   {to_text(decision.window_start_s)} to {to_text(decision.window_end_s)}")
    print(f"  seed     sha256(msgs/paris, {decision.period_key}, msgs)")
    print(f"           = {decision.seed_hash}")
    for number, draw in enumerate(trace.draws, start=1):
        verdict = paint("chosen", "32") if draw.rejection is None else draw.rejection
        print(f"  draw {number:>2}  u={draw.u:.6f}  {to_text(draw.candidate_s)}  {verdict}")
    share = kron.feasibility(schedule, nominal=friday)
    print(f"  the constraints leave {share.share:.0%} of the window to this distribution")


def compare_machines() -> None:
    """The same choice in another process with another hash seed, locale and time zone."""
    title("the same on every machine", "another process, hash seed, locale and TZ")
    program = (
        f"import kron, datetime as d; s = kron.parse_schedule({MESSAGES!r}); "
        "print(kron.decide(s, identity='msgs/paris', "
        "nominal=s.next_nominal(d.datetime(2026, 3, 6, tzinfo=d.UTC))).chosen_time.isoformat())"
    )
    for surroundings in (
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Pacific/Apia"},
    ):
        answer = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | surroundings,
            capture_output=True,
            text=True,
            check=True,
        )
        print(f"  {answer.stdout.strip()}   {surroundings}")


def live_through_a_bad_night() -> None:
    """A step is a pure function of the job, the ledger and the clock."""
    text = "*/30 * * * * @win(after,20m) @policy(deadline=30m)"
    title("a bad night: downtime, kill -9, ten years of sleep", text)
    job = Job("/etc/krond.d/demo.kron:sync", kron.parse_schedule(text))
    first = step(job, None, from_text("2026-03-01T00:10:00Z"))
    plan, ledger = first.plan, first.ledger
    assert first.wake_s is not None
    say("2026-03-01T00:10:00Z", f"first seen; sleeps until {to_text(first.wake_s)}")

    woken = step(job, ledger, first.wake_s, plan=plan, slack_s=5)
    tell(to_text(first.wake_s), woken.actions)
    (intent,) = woken.ledger.starting
    say(to_text(first.wake_s), paint("kill -9 between the intent and the start", "31"))
    found = recover(job, woken.ledger, [], first.wake_s + 9, slack_s=5)
    (action,) = found.actions
    say(
        to_text(first.wake_s + 9),
        f"never started, so: {type(action).__name__.lower()} {intent.run_id}",
    )
    ledger = found.ledger.with_started(intent.nominal_s)

    for moment in ("2026-03-01T05:20:00Z", "2036-03-01T05:20:00Z"):
        back = step(job, ledger, from_text(moment))
        tell(moment, back.actions)
        ledger = settled(back.ledger)


def refuse_a_bad_line() -> None:
    """Everything that is wrong with a line, at once, with the fix."""
    text = "5/10 2 * * FRI-MON @tz(Europe/Pars) @win(after,2d) @dist(skewlate)"
    title("a bad line is refused, with every mistake and its fix", text)
    try:
        kron.parse_schedule(text)
    except kron.ParseError as error:
        print("  " + str(error).replace("\n", "\n  "))


def settled(ledger: Ledger) -> Ledger:
    """The ledger once everything that was to start has started."""
    for intent in ledger.starting:
        ledger = ledger.with_started(intent.nominal_s)
    return ledger


def tell(moment: str, actions: tuple[Action, ...]) -> None:
    """Say what a step decided."""
    for action in actions:
        match action:
            case Start(decision, run_id, _):
                say(moment, paint(f"start {decision.period_id} as {run_id}", "32"))
            case Settle(decision, outcome, reason):
                say(moment, f"{outcome} {decision.period_id}: {reason}")
            case SettleMany(count, first_s, last_s, _):
                say(moment, f"missed {count:,} periods, {to_text(first_s)} to {to_text(last_s)}")
            case Reschedule(decision, _, _):
                say(moment, f"moved {decision.period_id}")


def say(moment: str, what: str) -> None:
    """One line of a story."""
    print(f"  {moment}  {what}")


def title(what: str, detail: str) -> None:
    """The heading of a scene."""
    print(f"\n{paint(what, '1')}\n  {paint(detail, '2')}")


def paint(text: str, colour: str) -> str:
    """`text` in a colour on a terminal, as it is in a pipe."""
    return f"\x1b[{colour}m{text}\x1b[0m" if COLOURS else text


if __name__ == "__main__":
    main()
