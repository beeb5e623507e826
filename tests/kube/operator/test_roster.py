"""The roster: members and their Jobs, which arrive in any order."""

from __future__ import annotations

import pytest

from kron.kube.operator.roster import ClusterRoster
from tests.kube.operator.made import T0, Unwritten, metadata, run


def test_a_job_that_is_heard_of_first_is_there_when_its_kronjob_comes() -> None:
    roster = ClusterRoster()
    job = run("job", T0)
    assert roster.put_run(job) is None
    member = roster.enrol(metadata(), Unwritten())
    assert member.runs == {"job": job}
    assert roster.put_run(job.replace(is_finished=True)) is member
    assert member.active_runs() == []


def test_the_owner_is_told_by_uid_not_by_name() -> None:
    roster = ClusterRoster()
    member = roster.enrol(metadata(uid="u2"), Unwritten())
    assert roster.put_run(run("job", T0, owner_uid="u1")) is None
    assert roster.put_run(run("mine", T0, owner_uid="u2")) is member
    assert [each.name for each in member.own_runs()] == ["mine"]
    assert roster.drop_run(run("job", T0)) is None
    assert roster.drop_run(run("mine", T0)) is member


def test_a_job_that_went_earlier_does_not_take_a_later_one_of_its_name_with_it() -> None:
    roster = ClusterRoster()
    member = roster.enrol(metadata(), Unwritten())
    job = run("job", T0)
    roster.put_run(job)
    assert roster.drop_run(job.replace(uid="of an earlier Job")) is None
    assert member.runs == {"job": job}
    assert roster.drop_run(job.replace(is_finished=True)) is member
    assert member.runs == {}


def test_a_kronjob_made_anew_finds_the_jobs_but_does_not_own_them() -> None:
    roster = ClusterRoster()
    old = roster.enrol(metadata(uid="u1"), Unwritten())
    roster.put_run(run("job", T0))
    roster.remove(old.key)
    assert len(roster) == 0
    new = roster.enrol(metadata(uid="u2"), Unwritten())
    assert list(new.runs) == ["job"]
    assert new.own_runs() == []


@pytest.mark.parametrize("period", ["yesterday", "2026-02-30T00:00:00Z", "\x00", "2026-03-01"])
def test_a_job_whose_period_does_not_read_is_nobodys(period: str) -> None:
    roster = ClusterRoster()
    member = roster.enrol(metadata(), Unwritten())
    assert roster.put_run(run("odd", period=period)) is None
    assert member.runs == {}


def test_jobs_that_are_no_longer_listed_are_forgotten_in_that_namespace_only() -> None:
    roster = ClusterRoster()
    here = roster.enrol(metadata(), Unwritten())
    there = roster.enrol(metadata(namespace="other", uid="u2"), Unwritten())
    for name in ("kept", "gone", "gone-too"):
        roster.put_run(run(name, T0))
    roster.put_run(run("far", T0, namespace="other", owner_uid="u2"))
    assert roster.keep_runs([("ns", "kept")], "ns") == [here]
    assert list(here.runs) == ["kept"]
    assert list(there.runs) == ["far"]
    assert set(map(id, roster.keep_runs([], None))) == {id(here), id(there)}
    assert here.runs == there.runs == {}


def test_what_is_unknown_is_dropped_without_a_word() -> None:
    roster = ClusterRoster()
    assert roster.drop_run(run("nobody", T0)) is None
    assert roster.get(("ns", "report")) is None
    assert list(roster) == []


def test_a_second_job_of_a_period_is_noticed_also_when_the_first_has_gone() -> None:
    roster = ClusterRoster()
    roster.enrol(metadata(), Unwritten())
    first = run("job", T0)
    assert roster.earlier(first) == ""
    roster.put_run(first)
    second = first.replace(uid="second")
    assert (roster.earlier(first), roster.earlier(second)) == ("", first.uid)
    roster.drop_run(first)
    assert (roster.earlier(first), roster.earlier(second)) == ("", first.uid)
    assert roster.earlier(second.replace(owner_uid="of a namesake")) == ""
    assert roster.earlier(second.replace(period="")) == "", "a manual run has no period"


def test_an_answer_does_not_undo_what_the_watch_has_shown_meanwhile() -> None:
    roster = ClusterRoster()
    member = roster.enrol(metadata(), Unwritten())
    job = run("job", T0)
    roster.put_run(job.replace(is_finished=True))
    roster.put_found(job)
    assert member.active_runs() == []
    roster.drop_run(job)
    roster.put_found(job)
    assert member.runs == {}


def test_a_list_that_is_older_than_an_answer_does_not_drop_the_job_that_it_showed() -> None:
    roster = ClusterRoster()
    member = roster.enrol(metadata(), Unwritten())
    job = run("job", T0)
    roster.put_made(job, frozenset())
    assert roster.keep_runs(set(), None) == []
    assert member.runs == {"job": job}
    roster.put_run(job)  # the watch has it
    assert roster.keep_runs(set(), None) == [member]
