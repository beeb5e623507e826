"""Retries and the limits of cgroups as krontab list and explain show them."""

from __future__ import annotations

import pytest

from tests.krontab.command import AT, Krontab
from tests.krontab.schemas import validate

LIMITS = "memory_max=1536M cpu_weight=50 pids_max=64"
TEXT = f"""\
0 1 * * * name=alone command=/bin/true retry_delay=1m
defaults: retries=3
0 2 * * * name=job command=/bin/true retry_delay=90s retry_within=1h {LIMITS}
0 3 * * * @policy(deadline=2h) name=late command=/bin/true
0 4 * * * name=odd command=/bin/true memory_max=1025 retries=0
"""
FILE = ("--file", "jobs.kron", "--at", AT)


@pytest.fixture
def krontab(krontab: Krontab) -> Krontab:
    krontab.write("jobs.kron", TEXT)
    return krontab


def test_scripts_get_them_as_numbers(krontab: Krontab) -> None:
    listed = krontab("list", *FILE, "--format", "json").fine().json
    validate(listed)
    found = {job["name"]: (job["retries"], job["cgroup_limits"]) for job in listed["jobs"]}
    assert found == {
        "alone": (None, []),
        "job": (
            {"count": 3, "delay": "1m30s", "within": "1h"},
            [
                {"field": "memory_max", "value": 1536 * 2**20},
                {"field": "cpu_weight", "value": 50},
                {"field": "pids_max", "value": 64},
            ],
        ),
        "late": ({"count": 3, "delay": "30s", "within": "2h"}, []),
        "odd": (None, [{"field": "memory_max", "value": 1025}]),
    }
    for name, expected in found.items():
        explained = krontab("explain", name, *FILE, "--format", "json").fine().json
        validate(explained)
        assert (explained["retries"], explained["cgroup_limits"]) == expected


def test_the_table_has_a_column_for_each_if_a_job_has_them(krontab: Krontab) -> None:
    head, _, job, late, odd = krontab("list", *FILE).fine().lines
    assert head.split()[-3:] == ["RETRIES", "LIMITS", "DEFAULTS"]
    assert f" 3 after 1m30s within 1h  {LIMITS}  " in job
    assert " 3 after 30s within 2h " in late
    assert " memory_max=1025 " in odd
    alone = krontab("list", *FILE, "--name", "alone").fine().out
    assert ("RETRIES" in alone, "LIMITS" in alone) == (False, False)


def test_explain_says_what_applies(krontab: Krontab) -> None:
    shown = krontab("explain", "job", *FILE).fine().out
    retries = "3 after 1m30s within 1h, twice as long after each further failure, up to 1h"
    assert f"  retries     {retries}\n  limits      {LIMITS}\n" in shown
    assert "  retries " not in krontab("explain", "alone", *FILE).fine().out


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ("retries=1 retry_delay=1m", "1 after 1m"),
        ("retries=2 retry_delay=0s", "2 at once"),
        ("retries=1 retry_delay=0s retry_within=1h", "1 at once within 1h"),
        (
            "retries=2 retry_delay=20m",
            "2 after 20m, twice as long after each further failure, up to 1h",
        ),
        ("retries=2 retry_delay=1h", "2 after 1h, as long after each further failure"),
    ],
)
def test_explain_says_of_further_failures_what_is_true(
    krontab: Krontab, fields: str, shown: str
) -> None:
    krontab.write("jobs.kron", f"0 1 * * * name=job command=/bin/true {fields}\n")
    assert f"  retries     {shown}\n" in krontab("explain", "job", *FILE).fine().out
    assert f" {shown.partition(',')[0]}" in krontab("list", *FILE).fine().out
