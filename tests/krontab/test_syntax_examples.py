"""Every example of the first specification lints without errors and is explained as it says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.krontab.command import AT, Krontab

NONE: dict[str, Any] = {}
PARIS = {"timezone": "Europe/Paris"}
LOS_ANGELES = {"timezone": "America/Los_Angeles"}
STATED_DEFAULTS = {
    "timezone": "UTC",
    "window_mode": "after",
    "window_duration": "0s",
    "distribution": "uniform",
    "dist_params": "",
    "seed_strategy": "stable",
    "salt": "",
    "constraints": "",
}
"""What a modifier that is left out means."""
DEFAULT_POLICY = {"concurrency": "forbid", "deadline": "0s", "suspend": False}


def window(mode: str, duration: str) -> dict[str, str]:
    return {"window_mode": mode, "window_duration": duration}


def law(name: str, parameters: str) -> dict[str, str]:
    return {"distribution": name, "dist_params": parameters}


def seed(strategy: str, salt: str) -> dict[str, str]:
    return {"seed_strategy": strategy, "salt": salt}


def policy(**changes: Any) -> dict[str, Any]:
    return {"policy": DEFAULT_POLICY | changes}


EXAMPLES: list[tuple[str, str, dict[str, Any]]] = [
    ("0 0 * * *", "at 00:00 every day", NONE),
    ("15 9 * * MON-FRI", "at 09:15 on Monday to Friday", NONE),
    ("*/5 * * * *", "every 5 minutes", NONE),
    ("0 3 1 * *", "at 03:00 on day 1 of the month", NONE),
    ("0 10 * * * @tz(Europe/Paris)", "at 10:00 every day", PARIS),
    ("0 18 * * * @tz(America/Los_Angeles)", "at 18:00 every day", LOS_ANGELES),
    ("0 0 * * * @win(after,2h)", "run within the 2h after that", window("after", "2h")),
    ("0 10 * * * @win(around,45m)", "run within 45m around then", window("around", "45m")),
    ("0 10 * * * @dist(uniform)", "at 10:00 every day", NONE),
    (
        "0 10 * * * @win(around,2h) @dist(normal,sigma=20m)",
        "at 10:00 every day",
        window("around", "2h") | law("normal", "sigma=20m"),
    ),
    (
        "0 10 * * * @win(after,2h)  @dist(normal,mu=start,sigma=15m)",
        "at 10:00 every day",
        window("after", "2h") | law("normal", "mu=start,sigma=15m"),
    ),
    (
        "0 10 * * * @win(after,2h) @dist(skewEarly,shape=3)",
        "at 10:00 every day",
        window("after", "2h") | law("skewEarly", "shape=3"),
    ),
    (
        "0 10 * * * @win(after,2h) @dist(skewLate,shape=1.5)",
        "at 10:00 every day",
        window("after", "2h") | law("skewLate", "shape=1.5"),
    ),
    (
        "0 10 * * * @win(after,2h) @dist(exponential,dir=early,lambda=1.2)",
        "at 10:00 every day",
        window("after", "2h") | law("exponential", "lambda=1.2"),
    ),
    (
        "0 10 * * * @win(after,2h) @dist(exponential,dir=late,lambda=0.8)",
        "at 10:00 every day",
        window("after", "2h") | law("exponential", "lambda=0.8,dir=late"),
    ),
    ('0 0 * * * @seed(stable,salt="team-a")', "at 00:00 every day", seed("stable", "team-a")),
    ("0 10 * * * @seed(daily)", "at 10:00 every day", seed("daily", "")),
    ("0 10 * * MON @seed(weekly,salt=prod)", "on Monday", seed("weekly", "prod")),
    (
        "0 0 * * * @policy(concurrency=forbid,deadline=10m)",
        "at 00:00 every day",
        policy(deadline="10m"),
    ),
    ("0 10 * * * @policy(concurrency=replace)", "at 10:00", policy(concurrency="replace")),
    (
        "0 10 * * * @win(after,2h) @avoid(hours=0-6)",
        "at 10:00 every day",
        window("after", "2h") | {"constraints": "@avoid(hours=0-6)"},
    ),
    (
        "0 18 * * * @win(around,1h) @only(dow=MON-FRI;between=08:00-20:00)",
        "at 18:00 every day",
        window("around", "1h") | {"constraints": "@only(dow=MON-FRI;between=08:00-20:00)"},
    ),
    ("0 19 * * * @avoid(date=2026-12-25)", "at 19:00", {"constraints": "@avoid(date=2026-12-25)"}),
    (
        "0 19 * * * @avoid(dates=2026-12-24..2026-12-31)",
        "at 19:00 every day",
        {"constraints": "@avoid(dates=2026-12-24..2026-12-31)"},
    ),
    (
        "0 0 * * * @tz(UTC) @win(after,3h) @dist(uniform) @seed(stable,salt=backup) "
        "@policy(concurrency=forbid,deadline=30m)",
        "at 00:00 every day, UTC time, run within the 3h after that",
        window("after", "3h") | seed("stable", "backup") | policy(deadline="30m"),
    ),
    (
        "0 10 * * * @tz(Europe/Paris) @win(around,90m) @dist(skewLate,shape=2.5) "
        "@seed(daily,salt=msgs) @only(dow=MON-FRI;between=08:00-20:00)",
        "at 10:00 every day, Europe/Paris time, run within 1h30m around then",
        PARIS
        | window("around", "1h30m")
        | law("skewLate", "shape=2.5")
        | seed("daily", "msgs")
        | {"constraints": "@only(dow=MON-FRI;between=08:00-20:00)"},
    ),
    (
        "0 18 * * * @tz(America/Los_Angeles) @win(around,20m) @dist(skewLate,shape=1.4) "
        "@seed(daily,salt=lights)",
        "at 18:00 every day, America/Los_Angeles time, run within 20m around then",
        LOS_ANGELES
        | window("around", "20m")
        | law("skewLate", "shape=1.4")
        | seed("daily", "lights"),
    ),
    (
        "0 * * * * @tz(UTC) @win(after,30m) @dist(skewEarly) @only(dow=MON-FRI;hours=8-18)",
        "at minute 0 of every hour, UTC time, run within the 30m after that",
        window("after", "30m")
        | law("skewEarly", "")
        | {"constraints": "@only(dow=MON-FRI;hours=8-18)"},
    ),
    (
        "0 2 1 * * @tz(UTC) @win(after,8h) @dist(uniform) @policy(concurrency=forbid,deadline=15m)",
        "at 02:00 on day 1 of the month, UTC time, run within the 8h after that",
        window("after", "8h") | policy(deadline="15m"),
    ),
]
UNITS_S = {"h": 3600, "m": 60, "s": 1}


def seconds(duration: str) -> int:
    """A duration of whole units, such as 1h30m."""
    total, digits = 0, ""
    for character in duration:
        if character.isdigit():
            digits += character
        else:
            total += int(digits) * UNITS_S[character]
            digits = ""
    return total


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    lines = [
        f"{text} name=example-{number} command=/bin/true"
        for number, (text, _, _) in enumerate(EXAMPLES)
    ]
    krontab.write("seed.kron", "\n".join(lines) + "\n")
    return krontab


def test_they_lint_without_errors(krontab: Krontab) -> None:
    linted = krontab("lint", "--file", "seed.kron", "--at", AT, "--format", "json")
    assert (linted.code, linted.err) == (0, "")
    assert linted.json["jobs"] == len(EXAMPLES)
    assert linted.json["errors"] == 0


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=[text for text, _, _ in EXAMPLES])
def test_they_are_explained_as_the_text_says(krontab: Krontab, number: int) -> None:
    text, meaning, expected = EXAMPLES[number]
    words = (f"example-{number}", "--file", "seed.kron", "--at", AT)
    document = krontab("explain", *words, "--format", "json").fine().json
    told = {key: document[key] for key in STATED_DEFAULTS | {"policy": None}}
    assert told == STATED_DEFAULTS | {"policy": DEFAULT_POLICY} | expected
    assert document["schedule"] == text
    assert meaning in document["meaning"]
    start, nominal, end = (
        datetime.fromisoformat(document[key]) for key in ("window_start", "nominal", "window_end")
    )
    width = timedelta(seconds=seconds(document["window_duration"]))
    assert end - start == width
    assert nominal - start == (width / 2 if document["window_mode"] == "around" else timedelta(0))
    if not document["unschedulable"]:
        assert start <= datetime.fromisoformat(document["chosen"]) <= end
    shown = krontab("explain", *words).fine().out
    assert document["meaning"] in shown
    assert document["seed_hash"] in shown


def test_they_all_run_also_those_that_the_seed_calls_planned(krontab: Krontab) -> None:
    """The seed's normal and exponential examples are not executed by its own MVP; here they are."""
    listed = krontab("list", "--file", "seed.kron", "--at", AT, "--format", "json").fine().json
    assert [job["name"] for job in listed["jobs"] if job["next_run"] is None] == []
