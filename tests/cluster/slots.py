"""Slots: periods that are open now, and whose successors are the better part of an hour away.

With `due_at` the next period is due within a minute, which is too soon for a test that says "and
no other". What an operator has lived through before a test began is written with `remember`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import kron
from kron.core.decision import Decision, decide_at
from kron.core.instant import to_text
from kron.engine.ledger import Intent, Ledger
from kron.kube.resource.kronjob import read_kronjob
from kron.kube.resource.run import manual_manifest, run_manifest
from kron.kube.resource.status import Status, status_to_json
from tests.cluster.api import Object
from tests.cluster.kronjobs import KronJobs
from tests.kube.intents import intent_of

MINUTE_S = 60
HOUR_S = 3600
_MOST_SALTS = 500_000


class Slot:
    """Periods that opened so many minutes ago, every hour at these minutes."""

    def __init__(self, namespace: str, *minutes_ago: int, window: str = "40m") -> None:
        now_s = int(time.time())
        opened_s = sorted(now_s - now_s % MINUTE_S - ago * MINUTE_S for ago in minutes_ago or (10,))
        self.namespace = namespace
        self.nominals_s = tuple(opened_s)
        minutes = sorted(nominal_s // MINUTE_S % 60 for nominal_s in opened_s)
        self.cron = f"{','.join(map(str, minutes))} * * * *"
        self.window = window

    @property
    def nominal_s(self) -> int:
        """That of the first period."""
        return self.nominals_s[0]

    @property
    def period(self) -> str:
        """The first period."""
        return to_text(self.nominal_s)

    def aim(self, name: str, *targets: int | range, more: str = "") -> str:
        """A schedule with which the periods, the earliest first, are chosen at these seconds."""
        wanted = [range(at, at + 1) if isinstance(at, int) else at for at in targets]
        text = f"{self.cron} @win(after,{self.window}) @seed(stable,salt=s) {more}".strip()
        base = kron.parse_schedule(text)
        for number in range(_MOST_SALTS):
            schedule = base.replace(seed=base.seed.replace(salt=f"s{number}"))
            pairs = zip(self.nominals_s, wanted, strict=True)
            if all(self._chosen_s(name, schedule, nominal_s) in at for nominal_s, at in pairs):
                return text.replace("salt=s)", f"salt=s{number})")
        raise AssertionError(f"no salt puts {self.namespace}/{name} at {targets}")

    def _chosen_s(self, name: str, schedule: kron.Schedule, nominal_s: int) -> int | None:
        return decide_at(schedule, f"{self.namespace}/{name}", nominal_s).chosen_s


def decision_of(kronjob: Object, nominal_s: int) -> Decision:
    """What is decided for a period of a KronJob, as it is in the API server."""
    read = read_kronjob(kronjob)
    return decide_at(read.schedule, read.identity, nominal_s)


def remember(
    kronjobs: KronJobs,
    kronjob: Object,
    since_s: int,
    *,
    through_s: int | None = None,
    handled_s: Iterable[int] = (),
    starting_s: tuple[int, ...] = (),
) -> None:
    """Give a KronJob the ledger of an operator that first saw it then.

    `through_s`: up to that period all have ended, and those of `handled_s` too; those of
    `starting_s` were about to start.
    """
    job = read_kronjob(kronjob).job
    intents = []
    for nominal_s in starting_s:
        decision = decide_at(job.schedule, job.identity, nominal_s)
        assert decision.chosen_s is not None
        run_id = job.run_id(decision.period_id)
        intents.append(Intent(nominal_s, decision.chosen_s, run_id, job.text))
    ledger = Ledger(
        job.text, since_s, through_s, frozenset((*handled_s, *starting_s)), tuple(intents)
    )
    written = status_to_json(Status(ledger=ledger))["ledger"]
    assert isinstance(written, dict)
    write_ledger(kronjobs, kronjob["metadata"]["name"], written)


def write_ledger(kronjobs: KronJobs, name: str, ledger: Object | None) -> None:
    """Let a KronJob's status have this ledger, whatever it is; None: none."""
    body = {"status": {"ledger": ledger}}
    kronjobs.api.patch("kronjobs", kronjobs.namespace, name, body, "status")


def make_run(kronjobs: KronJobs, kronjob: Object, nominal_s: int, *owners: Object | None) -> Object:
    """Make the Job of a period, as an operator does that is killed right after.

    `owners`: another KronJob that owns it, or None: nobody does.
    """
    read = read_kronjob(kronjob)
    manifest = run_manifest(read, intent_of(read, nominal_s), 5)
    [reference] = manifest["metadata"]["ownerReferences"]
    for owner in owners:
        names = {key: owner["metadata"][key] for key in ("name", "uid")} if owner else {}
        manifest["metadata"]["ownerReferences"] = [reference | names] if owner else []
    return kronjobs.api.create("jobs", kronjobs.namespace, manifest)


def make_manual(kronjobs: KronJobs, kronjob: Object, suffix: str) -> Object:
    """Make a Job outside any period, as `kronctl trigger` does."""
    manifest = manual_manifest(read_kronjob(kronjob), suffix)
    return kronjobs.api.create("jobs", kronjobs.namespace, manifest)
