"""Places: a warning points at the part of the line that it is about."""

from __future__ import annotations

import pytest

from kron.core.cron import DAY_OF_WEEK, HOUR, MINUTE
from kron.lint.advisor import Places
from kron.lint.remark import SCHEDULE

LINE = (
    '\t5 2  * * MON @win(after,2h) @seed(stable,salt="a ) @tz(x) b=c") @only(hours=2) '
    'name=a command="echo \\"user=x\\" @win(y) \\\\ end" user=backup env=A=1 env=B=2'
)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param(SCHEDULE, "5 2  * * MON", id="schedule"),
        pytest.param(MINUTE.name, "5", id="minute"),
        pytest.param(HOUR.name, "2", id="hour"),
        pytest.param(DAY_OF_WEEK.name, "MON", id="day of week"),
        pytest.param("@win", "@win(after,2h)", id="modifier"),
        pytest.param("@seed", '@seed(stable,salt="a ) @tz(x) b=c")', id="modifier with a string"),
        pytest.param("@tz", "5 2  * * MON", id="a modifier that is not there"),
        pytest.param("user=", "user=backup", id="field"),
        pytest.param("env=", "env=A=1", id="the first of several"),
        pytest.param(("command=", "end"), "end", id="a word of the command"),
        pytest.param(("command=", "\\"), "\\\\"[:1], id="a backslash"),
        pytest.param(("command=", '"user=x"'), '\\"user=x\\"', id="an escaped word"),
        pytest.param(
            ("command=", "none"),
            'command="echo \\"user=x\\" @win(y) \\\\ end"',
            id="a word that is not there",
        ),
        pytest.param("cwd=", LINE, id="a field that is not there"),
    ],
)
def test_a_part_is_found_where_it_stands(part: str | tuple[str, str], expected: str) -> None:
    words = (part,) if isinstance(part, str) else part
    start, end = Places(LINE).of(*words)
    assert LINE[start:end] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "daily between 9:00 and 17:00 name=a", "daily between 9:00 and 17:00", id="fuzzy"
        ),
        pytest.param("@win(after,2h) 0 0 * * * name=a", "0", id="modifiers first"),
        pytest.param("name=a", "name=a", id="no schedule"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_cron_field_that_is_not_there_is_the_whole_schedule(text: str, expected: str) -> None:
    start, end = Places(text).of(MINUTE.name)
    assert text[start:end] == expected
