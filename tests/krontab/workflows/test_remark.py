"""The remark behind a cron expression: what was compiled is known again, and nothing else is."""

from __future__ import annotations

import pytest

from kron.fuzzy import scatter
from tests.krontab.workflows.clone import SLUG, Clone

YML = "w.yml"
ID = f"{SLUG}/{YML}"


def in_list(entry: str) -> str:
    return f"on:\n  schedule:\n    - {entry}\n"


def test_the_fuzzy_text_stays_behind_the_cron_expression(clone: Clone) -> None:
    cron = scatter("daily around 3pm utc-5", ID)
    text = clone.compiled(YML, in_list("cron: daily around 3pm utc-5"))
    assert text == in_list(f'cron: "{cron}" # fuzzy: daily around 3pm utc-5')


def test_another_text_in_the_remark_gives_another_time(clone: Clone) -> None:
    text = clone.compiled(YML, in_list("cron: daily around 14:00"))
    text = clone.compiled(YML, text.replace("around 14:00", "around 20:00"))
    assert text == in_list(
        f'cron: "{scatter("daily around 20:00", ID)}" # fuzzy: daily around 20:00'
    )


def test_another_path_gives_another_time(clone: Clone) -> None:
    text = clone.compiled(YML, in_list("cron: daily"))
    moved = clone.compiled("moved.yml", text)
    assert moved == in_list(f'cron: "{scatter("daily", f"{SLUG}/moved.yml")}" # fuzzy: daily')
    assert moved != text


def test_another_repository_gives_another_time(clone: Clone) -> None:
    clone.write(YML, clone.compiled(YML, in_list("cron: daily")))
    ran = clone.compile("--check", "--repo", "other/tools", YML)
    assert ran.code == 1
    was, now = scatter("daily", ID), scatter("daily", "other/tools/w.yml")
    assert f'the fuzzy schedule "daily" is "{now}" here, not "{was}"' in ran.err


def test_a_new_value_wins_over_the_old_remark(clone: Clone) -> None:
    text = clone.compiled(YML, in_list("cron: weekly # fuzzy: daily # why"))
    assert text == in_list(f'cron: "{scatter("weekly", ID)}" # fuzzy: weekly # why')


@pytest.mark.parametrize(
    "comment",
    [
        pytest.param("", id="none"),
        pytest.param(" # daily", id="words-of-a-fuzzy-schedule"),
        pytest.param(" # FUZZY:DAILY * * *", id="a-placeholder"),
        pytest.param(" # not fuzzy: daily", id="not-at-its-beginning"),
        pytest.param(" # Fuzzy: daily", id="another-case"),
        pytest.param(" # fuzzy: -", id="said-to-be-plain"),
    ],
)
@pytest.mark.parametrize("cron", ["'0 0 * * *'", "13 4 * * *", '"*/5 * * * *"'])
def test_what_somebody_chose_is_left_alone(cron: str, comment: str, clone: Clone) -> None:
    text = in_list(f"cron: {cron}{comment}")
    assert clone.compiled(YML, text) == text
    assert clone.compile("--check", YML).code == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("cron: daily", 'cron: "{}" # fuzzy: daily', id="none"),
        pytest.param("cron: daily   ", 'cron: "{}" # fuzzy: daily   ', id="blanks"),
        pytest.param("cron: daily # x", 'cron: "{}" # fuzzy: daily # x', id="a-comment"),
        pytest.param("cron: daily   #x", 'cron: "{}"   # fuzzy: daily #x', id="kept-apart"),
        pytest.param("cron: 'daily'#x", "cron: '{}' # fuzzy: daily #x", id="touching"),
        pytest.param("cron: daily # fuzzy:", 'cron: "{}" # fuzzy: daily', id="an-empty-remark"),
        pytest.param("cron: daily # fuzzy:#x", 'cron: "{}" # fuzzy: daily #x', id="empty-touching"),
        pytest.param("cron: '0 0 * * *' #fuzzy:daily", "cron: '{}' #fuzzy:daily", id="as-written"),
        pytest.param(
            "cron: '0 0 * * *' # fuzzy:  daily  # x", "cron: '{}' # fuzzy:  daily  # x", id="spaced"
        ),
        pytest.param("cron:   daily", 'cron:   "{}" # fuzzy: daily', id="space-before"),
        pytest.param('cron: "daily"', 'cron: "{}" # fuzzy: daily', id="double-quotes"),
        pytest.param(
            "{cron: daily, x: '#'} # y",
            "{{cron: \"{}\", x: '#'}} # fuzzy: daily # y",
            id="hash-in-quotes",
        ),
        pytest.param(
            "{cron: daily, x: a#b}", '{{cron: "{}", x: a#b}} # fuzzy: daily', id="hash-in-plain"
        ),
    ],
)
def test_other_comments_on_the_line_stay(before: str, after: str, clone: Clone) -> None:
    assert clone.compiled(YML, in_list(before)) == in_list(after.format(scatter("daily", ID)))


def test_one_remark_serves_all_cron_expressions_of_a_line(clone: Clone) -> None:
    text = clone.compiled(
        YML, "on: {schedule: [{cron: daily}, {cron: 0 5 * * 1}, {cron: weekly}]}\n"
    )
    daily, weekly = scatter("daily", ID), scatter("weekly", ID)
    line = f'on: {{schedule: [{{cron: "{daily}"}}, {{cron: 0 5 * * 1}}, {{cron: "{weekly}"}}]}}'
    assert text == f"{line} # fuzzy: daily; -; weekly\n"
    text = clone.compiled(YML, text.replace("; weekly", ";hourly"))
    assert text == f"{line.replace(weekly, scatter('hourly', ID))} # fuzzy: daily; -;hourly\n"


def test_equal_schedules_of_a_file_are_numbered(clone: Clone) -> None:
    clone.write(YML, "on:\n  schedule:\n" + "    - cron: daily\n" * 3 + "    - cron: weekly\n")
    schedules = clone.document(YML)["files"][0]["schedules"]
    assert [each["identifier"] for each in schedules] == [ID, f"{ID}#2", f"{ID}#3", ID]
    assert len({each["cron"] for each in schedules}) == 4
    assert clone.document("--write", YML)["files"][0]["written"]
    assert clone.compile("--check", YML).code == 0


def test_schedules_that_share_a_minute_are_told_of(clone: Clone) -> None:
    first, second = _colliding()
    for name in (first, second):
        clone.write(name, in_list("cron: daily"))
    ran = clone.compile("--no-heatmap", ".")
    assert ran.code == 0
    cron = scatter("daily", f"{SLUG}/{first}")
    told = f'2 schedules have the same time ({cron}): "{SLUG}/{first}", "{SLUG}/{second}"'
    assert told in ran.err


def _colliding() -> tuple[str, str]:
    """Two names of files whose daily schedules share a minute, in the order of their names."""
    seen: dict[str, str] = {}
    for number in range(1_000, 2_000):
        name = f"{number}.yml"
        other = seen.setdefault(scatter("daily", f"{SLUG}/{name}"), name)
        if other != name:
            return other, name
    raise AssertionError


def test_many_collisions_are_not_all_shown_to_people(clone: Clone) -> None:
    clone.write(YML, "on:\n  schedule:\n" + "    - cron: daily\n" * 200)
    count = sum(each["code"] == "COLLISION" for each in clone.document(YML)["findings"])
    err = clone.compile("--no-heatmap", YML).err
    assert err.count("[COLLISION]") == 3
    assert f"... and {count - 3} more collisions; --format json shows all\n" in err
