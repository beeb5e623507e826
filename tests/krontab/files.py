"""The files that tests ask krontab about: good ones, wrong ones, a crontab and a log."""

from __future__ import annotations

from datetime import UTC, datetime

import kron
from kron.logs.decisions import decision_records
from kron.logs.text import write_text

GOOD = """\
# backups
0 2 * * * @win(after,3h) @policy(deadline=30m) name=backup command=/bin/true
15 9 * * MON-FRI @tz(Europe/Paris) @policy(deadline=5m) name=report command="/bin/echo good day"
"""
WARNED = "0 2 * * * name=backup command=/no/such/program\n"
WRONG = "0 25 * * * name=late command=/bin/true\n0 0 * * * nam=x command=/bin/true\n"
CRONTAB = "0 0 * * * /bin/true\n30 4 * * 1 /bin/echo weekly\n"
WRONG_CRONTAB = "0 25 * * * /bin/true\n"
NOMINAL = datetime(2026, 3, 1, tzinfo=UTC)
SCHEDULE = "0 0 * * * @win(after,3h) @seed(stable,salt=backup)"
IDENTITY = "prod/db-backup"


def log(*, chosen: str = "2026-03-01T02:32:20Z") -> str:
    """The log of one decision, the true one unless another chosen time is said."""
    decision = kron.decide(kron.parse_schedule(SCHEDULE), identity=IDENTITY, nominal=NOMINAL)
    records = decision_records(
        decision, namespace="prod", name="db-backup", time_ns=0, schedule_text=SCHEDULE
    )
    lines = [write_text(record) for record in records]
    return "\n".join(lines).replace("2026-03-01T02:32:20Z", chosen) + "\n"
