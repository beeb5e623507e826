"""The conformance tests of the grammar: syntax, times, constraints, time zones, intervals."""

from __future__ import annotations

from kron.core.errors import Code
from kron.fuzzy.conformance.check import Test, parses, rejects
from kron.fuzzy.pattern import WEEKDAYS


def _around(times: dict[str, str]) -> dict[str, str]:
    """From a time to the time that the placeholder of `daily around` it holds."""
    return {
        f"daily around {time}": f"FUZZY:DAILY_AROUND:{placed} * * *"
        for time, placed in times.items()
    }


SYNTAX = (
    Test(
        "T-SYNTAX-001",
        1,
        "Parse daily to FUZZY:DAILY * * *",
        parses({"daily": "FUZZY:DAILY * * *"}),
    ),
    Test(
        "T-SYNTAX-002",
        1,
        "Parse weekly to FUZZY:WEEKLY * * *",
        parses({"weekly": "FUZZY:WEEKLY * * *"}),
    ),
    Test(
        "T-SYNTAX-003",
        1,
        "Parse weekly on monday to FUZZY:WEEKLY:1 * * 1",
        parses({"weekly on monday": "FUZZY:WEEKLY:1 * * 1"}),
    ),
    Test(
        "T-SYNTAX-004",
        1,
        "Parse all weekday names correctly",
        parses(
            {
                f"weekly on {name}": f"FUZZY:WEEKLY:{number} * * {number}"
                for number, name in enumerate(WEEKDAYS)
            }
        ),
    ),
    Test(
        "T-SYNTAX-005",
        1,
        "Reject invalid schedule types",
        rejects(dict.fromkeys(("monthly", "yearly", "dail", "5", "on"), Code.UNKNOWN_KEYWORD)),
    ),
    Test(
        "T-SYNTAX-006",
        1,
        "Reject invalid weekday names",
        rejects(
            {f"weekly on {day}": Code.UNKNOWN_WEEKDAY for day in ("mondey", "mon", "1", "someday")}
        ),
    ),
    Test(
        "T-SYNTAX-007",
        1,
        "Parse case-insensitive tokens",
        parses(
            {
                "DAILY": "FUZZY:DAILY * * *",
                "Weekly On MONDAY": "FUZZY:WEEKLY:1 * * 1",
                "Daily Around Noon UTC+1": "FUZZY:DAILY_AROUND:11:0 * * *",
            }
        ),
    ),
)

TIME = (
    Test("T-TIME-001", 2, "Parse 24-hour format 14:00", parses(_around({"14:00": "14:0"}))),
    Test("T-TIME-002", 2, "Parse 12-hour format 3pm", parses(_around({"3pm": "15:0"}))),
    Test("T-TIME-003", 2, "Parse 12-hour format 11am", parses(_around({"11am": "11:0"}))),
    Test("T-TIME-004", 2, "Parse keyword midnight as 00:00", parses(_around({"midnight": "0:0"}))),
    Test("T-TIME-005", 2, "Parse keyword noon as 12:00", parses(_around({"noon": "12:0"}))),
    Test("T-TIME-006", 2, "Convert 12am to 00:00 (midnight)", parses(_around({"12am": "0:0"}))),
    Test("T-TIME-007", 2, "Convert 12pm to 12:00 (noon)", parses(_around({"12pm": "12:0"}))),
    Test(
        "T-TIME-008",
        2,
        "Reject invalid hours (>23 or <0)",
        rejects(
            {f"daily around {hour}:00": Code.HOUR_OUT_OF_RANGE for hour in ("24", "25", "99", "-1")}
            | {f"daily around {hour}pm": Code.HOUR_12_OUT_OF_RANGE for hour in ("0", "13")}
        ),
    ),
    Test(
        "T-TIME-009",
        2,
        "Reject invalid minutes (>59 or <0)",
        rejects(
            {f"daily around 14:{minute}": Code.MINUTE_OUT_OF_RANGE for minute in ("60", "65", "-1")}
        ),
    ),
    Test(
        "T-TIME-010",
        2,
        "Handle missing leading zeros (e.g., 9:30)",
        parses(_around({"9:30": "9:30", "09:30": "9:30"})),
    ),
)

CONSTRAINT = (
    Test(
        "T-CONSTRAINT-001",
        2,
        "Parse daily around 14:00",
        parses({"daily around 14:00": "FUZZY:DAILY_AROUND:14:0 * * *"}),
    ),
    Test(
        "T-CONSTRAINT-002",
        2,
        "Parse daily between 9:00 and 17:00",
        parses({"daily between 9:00 and 17:00": "FUZZY:DAILY_BETWEEN:9:0:17:0 * * *"}),
    ),
    Test(
        "T-CONSTRAINT-003",
        2,
        "Parse weekly on friday around 17:00",
        parses({"weekly on friday around 17:00": "FUZZY:WEEKLY:5:AROUND:17:0 * * 5"}),
    ),
    Test(
        "T-CONSTRAINT-004",
        2,
        "Handle midnight-crossing ranges (22:00 and 02:00)",
        parses({"daily between 22:00 and 02:00": "FUZZY:DAILY_BETWEEN:22:0:2:0 * * *"}),
    ),
    Test(
        "T-CONSTRAINT-005",
        2,
        "Reject around without time specification",
        rejects({"daily around": Code.MISSING_TIME_SPEC, "weekly around": Code.MISSING_TIME_SPEC}),
    ),
    Test(
        "T-CONSTRAINT-006",
        2,
        "Reject between with only one time",
        rejects(
            {
                "daily between 9:00": Code.INCOMPLETE_RANGE,
                "daily between 9:00 and": Code.INCOMPLETE_RANGE,
            }
        ),
    ),
    Test(
        "T-CONSTRAINT-007",
        2,
        "Reject daily at <time> syntax",
        rejects({"daily at 14:00": Code.UNSUPPORTED_SYNTAX}),
    ),
)

TIME_ZONE = (
    Test("T-TZ-001", 3, "Parse utc+9 offset", parses(_around({"23:00 utc+9": "14:0"}))),
    Test("T-TZ-002", 3, "Parse utc-5 offset", parses(_around({"9:00 utc-5": "14:0"}))),
    Test(
        "T-TZ-003",
        3,
        "Parse utc+05:30 offset format",
        parses(_around({"9:30am utc+05:30": "4:0"})),
    ),
    Test(
        "T-TZ-004",
        3,
        "Convert 14:00 utc+9 to 05:00 UTC",
        parses(_around({"14:00 utc+9": "5:0"})),
    ),
    Test("T-TZ-005", 3, "Convert 3pm utc-5 to 20:00 UTC", parses(_around({"3pm utc-5": "20:0"}))),
    Test(
        "T-TZ-006",
        3,
        "Handle negative UTC conversion (wrap to previous day)",
        parses(
            {
                "daily around 02:00 utc+9": "FUZZY:DAILY_AROUND:17:0 * * *",
                "weekly on monday around 02:00 utc+9": "FUZZY:WEEKLY:0:AROUND:17:0 * * 0",
            }
        ),
    ),
    Test(
        "T-TZ-007",
        3,
        "Handle >24:00 UTC conversion (wrap to next day)",
        parses(
            {
                "daily around 23:00 utc-5": "FUZZY:DAILY_AROUND:4:0 * * *",
                "weekly on saturday around 23:00 utc-5": "FUZZY:WEEKLY:0:AROUND:4:0 * * 0",
            }
        ),
    ),
    Test(
        "T-TZ-008",
        3,
        "Reject invalid offsets (e.g., utc+25)",
        rejects(
            {
                f"daily around 14:00 {offset}": Code.OFFSET_OUT_OF_RANGE
                for offset in ("utc+25", "utc+14:01", "utc-12:01", "utc-13")
            }
            | {"daily around 14:00 utc9": Code.MALFORMED_OFFSET}
        ),
    ),
)

INTERVAL = (
    Test(
        "T-HOURLY-001",
        2,
        "Parse hourly to FUZZY:HOURLY * * *",
        parses({"hourly": "FUZZY:HOURLY * * *"}),
    ),
    Test(
        "T-HOURLY-002",
        2,
        "Parse every 2h to FUZZY:HOURLY:2 * * *",
        parses({"every 2h": "FUZZY:HOURLY:2 * * *"}),
    ),
    Test(
        "T-HOURLY-003",
        2,
        "Parse every 6 hours to FUZZY:HOURLY:6 * * *",
        parses({"every 6 hours": "FUZZY:HOURLY:6 * * *"}),
    ),
    Test(
        "T-INTERVAL-001",
        3,
        "Parse every 5 minutes to */5 * * * *",
        parses({"every 5 minutes": "*/5 * * * *"}),
    ),
    Test(
        "T-INTERVAL-002",
        3,
        "Parse every 2 days to 0 0 */2 * *",
        parses({"every 2 days": "0 0 */2 * *"}),
    ),
    Test(
        "T-INTERVAL-003",
        3,
        "Reject every 3 minutes (below 5-minute minimum)",
        rejects({"every 3 minutes": Code.INTERVAL_TOO_SMALL, "every 4m": Code.INTERVAL_TOO_SMALL}),
    ),
    Test(
        "T-INTERVAL-004",
        3,
        "Parse bi-weekly to FUZZY:BI-WEEKLY * * *",
        parses({"bi-weekly": "FUZZY:BI-WEEKLY * * *"}),
    ),
    Test(
        "T-INTERVAL-005",
        3,
        "Parse tri-weekly to FUZZY:TRI-WEEKLY * * *",
        parses({"tri-weekly": "FUZZY:TRI-WEEKLY * * *"}),
    ),
)

TESTS = (*SYNTAX, *TIME, *CONSTRAINT, *TIME_ZONE, *INTERVAL)
