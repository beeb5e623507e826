"""The rules of docs/engine.md, read as plainly as possible: no watermark, no bulk, no plan.

It remembers every period that was handled and looks at every period since the job was first
seen, so it is slow and simple. It shares decisions and cron resolution with the engine, which
have oracles of their own, and nothing of `step`, `survey` or `ledger`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kron.core.decision import Decision, decide_at
from kron.core.instant import to_text
from kron.core.schedule import Schedule
from kron.engine.step import MOST_ONE_BY_ONE
from kron.engine.survey import LOOK_BACK

DAY_S = 86_400
STARTS = ("start", "replace")
MOVES = ("moved", "lapsed")


@dataclass
class Ends:
    """What a step has to do with each period that is due, by nominal instant."""

    started: list[int] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    unschedulable: list[int] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)
    wake_s: int | None = None
    """None: nothing is to come for a while."""

    def check(self, told: list[str], wake: str | None) -> None:
        """What a step told, in the words of `scene.told`, has to be just this."""
        words = [action.split() for action in told]
        if self.wake_s is not None:
            assert wake == to_text(self.wake_s)
        ended = len(self.started + self.skipped + self.unschedulable + self.missed)
        if ended > LOOK_BACK:
            # Old periods are counted as missed without a look at what they would have been.
            counts = [int(w[1]) if len(w) == 4 else 1 for w in words if w[0] not in MOVES]
            assert sum(counts) == ended
            assert {w[1] for w in words if w[0] in STARTS} <= set(_texts(self.started))
            return
        assert [w[1] for w in words if w[0] in STARTS] == _texts(self.started)
        assert [w[1] for w in words if w[0] == "skipped"] == _texts(self.skipped)
        assert [w[1] for w in words if w[0] == "unschedulable"] == _texts(self.unschedulable)
        missed = [w[1:] for w in words if w[0] == "missed"]
        if len(self.missed) > MOST_ONE_BY_ONE:
            first, last = _texts([min(self.missed), max(self.missed)])
            assert missed == [[str(len(self.missed)), first, last]]
        else:
            assert missed == [[text] for text in _texts(self.missed)]


@dataclass
class Naive:
    """A job's whole life."""

    identity: str
    slack_s: int
    handled: set[int] = field(default_factory=set)
    since_s: int | None = None
    seen: Schedule | None = None
    awake_since_s: int | None = None
    decided: dict[int, Decision] = field(default_factory=dict)
    lapsed: dict[int, bool] = field(default_factory=dict)
    """The periods of the last look in order: whether each is not owed."""

    def step(self, schedule: Schedule, now_s: int, *, active: bool) -> Ends:
        policy = schedule.policy
        plain = schedule.replace(policy=policy.replace(suspend=False))
        edited = self.seen is not None and self.seen != plain
        if self.since_s is None or edited or now_s < self.since_s:
            self.since_s = now_s
        self.seen = plain
        if policy.suspend:
            self.awake_since_s = None
            return Ends()
        due, to_come_s = self._look(schedule, now_s)
        ends = Ends()
        if to_come_s and min(to_come_s) <= now_s + schedule.width_s:
            ends.wake_s = min(to_come_s)  # nothing beyond the look can come before it
        may_run = self._may_run(due, now_s, policy.deadline_ns)
        for when_s, nominal_s, decision in due:
            self.handled.add(nominal_s)
            if decision.chosen_s is None:
                ends.unschedulable.append(nominal_s)
            elif (when_s, nominal_s) not in may_run:
                ends.missed.append(nominal_s)
            elif active and policy.concurrency == "forbid":
                ends.skipped.append(nominal_s)
            else:
                ends.started.append(nominal_s)
                active = True
        self._close_the_lapsed()
        self.awake_since_s = now_s
        return ends

    def _close_the_lapsed(self) -> None:
        """What was not owed stays so once a later period has ended and none before it is open."""
        passed: list[int] = []
        for nominal_s, is_lapsed in self.lapsed.items():
            if nominal_s in self.handled:
                self.handled.update(passed)
            elif is_lapsed:
                passed.append(nominal_s)
            else:
                break

    def _look(
        self, schedule: Schedule, now_s: int
    ) -> tuple[list[tuple[int, int, Decision]], list[int]]:
        assert self.since_s is not None
        width_s = schedule.width_s
        due, to_come_s = [], []
        self.lapsed = {}
        nominal_s = self.since_s - width_s - DAY_S
        while (nominal_s := schedule.nominals.after(nominal_s)) < now_s + 2 * width_s + DAY_S:
            decision = self.decided.get(nominal_s)
            if decision is None or decision.schedule != schedule:
                decision = decide_at(schedule, self.identity, nominal_s)
                self.decided[nominal_s] = decision
            when_s = decision.window_end_s if decision.chosen_s is None else decision.chosen_s
            self.lapsed[nominal_s] = when_s < self.since_s
            if nominal_s in self.handled or self.lapsed[nominal_s]:
                continue
            if when_s <= now_s:
                due.append((when_s, nominal_s, decision))
            else:
                to_come_s.append(when_s)
        return sorted(due, key=lambda row: row[:2]), to_come_s

    def _may_run(
        self, due: list[tuple[int, int, Decision]], now_s: int, deadline_ns: int
    ) -> set[tuple[int, int]]:
        deadline_s = deadline_ns // 10**9
        able = [row[:2] for row in due if row[2].chosen_s is not None]
        slack_s = min(self.slack_s, deadline_s) if deadline_ns else self.slack_s

        def on_time(chosen_s: int) -> bool:
            was_awake = self.awake_since_s is not None and self.awake_since_s <= chosen_s
            return chosen_s == now_s or (was_awake and now_s - chosen_s <= slack_s)

        prompt = {row for row in able if on_time(row[0])}
        if prompt or not able:
            return prompt
        return {max(able)} if now_s - max(able)[0] <= deadline_s else set()


def _texts(instants_s: list[int]) -> list[str]:
    return [to_text(instant_s) for instant_s in instants_s]
