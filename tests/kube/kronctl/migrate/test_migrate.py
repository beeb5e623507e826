"""`kronctl migrate`: everything of a CronJob is in the KronJob, or is said."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kron.console.terminal import Terminal
from kron.core.duration import SECOND_NS, format_duration
from kron.core.gap import shortest_gap
from kron.core.instant import from_text
from kron.core.parser import parse_schedule
from kron.core.year import LEAP_YEAR, Year
from kron.kube.kronctl.commands.migrate import _is_confirmed, _warnings, rendered
from kron.kube.kronctl.manifest import read_manifests
from kron.kube.kronctl.migrate.migration import Migration, migrate
from kron.kube.resource.kronjob import find_problems
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import cronjob

CRONJOBS = Path(__file__).parent / "cronjobs"
NOW_S = from_text("2026-03-01T00:00:00Z")


def objects(name: str) -> list[dict[str, Any]]:
    read = read_manifests([str(CRONJOBS / name)])
    assert not read.findings
    return [each.content for each in read.objects]


def migrated(name: str, **options: Any) -> Migration:
    (only,) = objects(name)
    return migrate(only, now_s=NOW_S, **options)


def made(text: str, **options: Any) -> Migration:
    return migrate(yaml.safe_load(text), now_s=NOW_S, **options)


def spec_of(migration: Migration) -> dict[str, Any]:
    assert migration.manifest is not None, migration.error
    spec: dict[str, Any] = migration.manifest["spec"]
    return spec


@pytest.mark.parametrize(
    ("name", "schedule", "policy", "others"),
    [
        pytest.param(
            "etcd-defrag.yaml",
            "0 3 * * *",
            {"concurrency": "forbid", "deadline": "24h"},
            {"successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1},
            id="a-script-in-a-database-chart",
        ),
        pytest.param(
            "logical-backup.yaml",
            "30 2 * * *",
            {"concurrency": "allow", "deadline": "1h"},
            {
                "timeZone": "Europe/Paris",
                "successfulJobsHistoryLimit": 3,
                "failedJobsHistoryLimit": 1,
            },
            id="a-dump-in-a-zone",
        ),
        pytest.param(
            "index-cleaner.yaml",
            "0 0 * * *",
            {"concurrency": "forbid", "deadline": "24h"},
            {},
            id="a-short-name-for-the-schedule",
        ),
        pytest.param(
            "descheduler.yaml",
            "*/10 * * * *",
            {"concurrency": "forbid", "deadline": "10m"},
            {},
            id="every-few-minutes",
        ),
        pytest.param(
            "certificate-renewal.yaml",
            "30 1 * * sun",
            {"concurrency": "replace", "deadline": "15m"},
            {"timeZone": "America/New_York", "successfulJobsHistoryLimit": 0},
            id="a-zone-in-the-text",
        ),
        pytest.param(
            "media-scanner.yaml",
            "5-45/20 8-18 * * MON-FRI",
            {"concurrency": "allow", "deadline": "61h20m"},
            {},
            id="question-marks-and-steps",
        ),
        pytest.param(
            "report-list.yaml",
            "0 6 1-31/2 * 1",
            {"concurrency": "allow", "deadline": "48h", "suspend": True},
            {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
            id="what-the-server-prints",
        ),
        pytest.param(
            "queue-worker.json",
            "*/30 * * * *",
            {"concurrency": "forbid", "deadline": "1m"},
            {},
            id="json-and-an-interval",
        ),
    ],
)
def test_a_chart_s_cronjob_becomes_a_kronjob(
    name: str, schedule: str, policy: dict[str, Any], others: dict[str, Any]
) -> None:
    (given,) = objects(name)
    migration = migrate(given, now_s=NOW_S)
    spec = spec_of(migration)
    template = spec.pop("jobTemplate")
    assert spec == {"schedule": schedule, "policy": policy, **others}
    assert template["spec"] == given["spec"]["jobTemplate"]["spec"]
    assert migration.manifest is not None
    assert migration.manifest["metadata"]["name"] == given["metadata"]["name"]
    assert find_problems({**migration.manifest, "spec": {**spec, "jobTemplate": template}}) == []


def test_labels_and_annotations_are_carried_over_but_for_kubectl_s_own() -> None:
    manifest = migrated("logical-backup.yaml").manifest
    assert manifest is not None
    assert manifest["metadata"] == {
        "name": "postgresql-pgdumpall",
        "namespace": "databases",
        "annotations": {"backup.example/retention": "14d"},
    }
    assert manifest["spec"]["jobTemplate"]["metadata"] == {
        "labels": {"job": "pgdumpall"},
        "annotations": {"checksum/config": "0123"},
    }


def test_every_chart_s_schedule_is_among_those_compared_with_kubernetes_for_a_year() -> None:
    lines = (Path(__file__).parent / "robfig/schedules.tsv").read_text().splitlines()
    compared = {tuple(line.split("\t")) for line in lines}
    for path in CRONJOBS.iterdir():
        if path.stem in ("not-to-migrate", "queue-worker"):  # @every counts from the last run
            continue
        (given,) = objects(path.name)
        schedule, zone = given["spec"]["schedule"], given["spec"].get("timeZone", "UTC")
        if schedule.startswith("CRON_TZ="):
            zone, _, schedule = schedule.removeprefix("CRON_TZ=").partition(" ")
        assert (zone.removeprefix("Etc/"), schedule) in compared


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("etcd-defrag.yaml", "managed by Helm", id="helm"),
        pytest.param("etcd-defrag.yaml", "no startingDeadlineSeconds", id="no-deadline"),
        pytest.param("etcd-defrag.yaml", "Kron skips it", id="forbid"),
        pytest.param("logical-backup.yaml", "2026-10-25T01:30:00Z", id="daylight-saving-fold"),
        pytest.param("logical-backup.yaml", "2026-03-29T01:00:00Z", id="daylight-saving-gap"),
        pytest.param("logical-backup.yaml", "ttlSecondsAfterFinished is 600", id="lifetime"),
        pytest.param("certificate-renewal.yaml", "has become spec.timeZone", id="zone"),
        pytest.param("media-scanner.yaml", '"5/20" is spelled "5-45/20"', id="spelling"),
        pytest.param("report-list.yaml", "ownerReferences are left out", id="owners"),
        pytest.param("report-list.yaml", "kron.io/nominal-time", id="an-annotation-it-reads"),
        pytest.param("queue-worker.json", "not from the last run", id="interval"),
    ],
)
def test_what_differs_is_said(name: str, told: str) -> None:
    assert any(told in note for note in migrated(name).notes)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        pytest.param(
            "  podFailurePolicy: {}\n",
            "spec.podFailurePolicy is not a field of a KronJob and is left out",
            id="spec",
        ),
        pytest.param("  timeZone: Europe/Paris\n", "daylight", id="a-zone-of-its-own"),
    ],
)
def test_what_kron_has_no_field_for_is_said(more: str, told: str) -> None:
    assert any(told in note for note in made(cronjob(schedule="30 2 * * *", more=more)).notes)


def test_labels_and_annotations_of_kron_are_left_out_of_templates_and_noted() -> None:
    obj = yaml.safe_load(cronjob())
    template = obj["spec"]["jobTemplate"]
    template["metadata"] = {"annotations": {"kron.io/manual": "true"}}
    pods = template["spec"]["template"]
    pods["metadata"] = {"labels": {"kron.io/name": "x", "kron.iot/a": "b"}}
    before = json.dumps(obj)
    migration = migrate(obj, now_s=0)
    assert json.dumps(obj) == before
    assert migration.manifest is not None
    made = migration.manifest["spec"]["jobTemplate"]
    assert "metadata" not in made
    assert made["spec"]["template"]["metadata"] == {"labels": {"kron.iot/a": "b"}}
    assert [note for note in migration.notes if "kron.io/" in note] == [
        'spec.jobTemplate.metadata.annotations["kron.io/manual"] is left out: '
        "what begins with kron.io/ is Kron's own",
        'spec.jobTemplate.spec.template.metadata.labels["kron.io/name"] is left out: '
        "what begins with kron.io/ is Kron's own",
    ]


@pytest.mark.parametrize(
    ("schedule", "notes"),
    [
        pytest.param("@daily", ('@daily is spelled "0 0 * * *" in Kron',), id="notes"),
        pytest.param("@dayly", (), id="a-schedule-that-is-wrong-too"),
    ],
)
def test_what_cannot_be_migrated_has_notes_too(schedule: str, notes: tuple[str, ...]) -> None:
    migration = made(cronjob(schedule=schedule, more="  concurrencyPolicy: Foo\n"))
    assert "spec.concurrencyPolicy" in migration.error
    assert migration.notes == notes


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("every-ninety-minutes", "@every 90m", id="an-uneven-interval"),
        pytest.param("local-zone", "kube-controller-manager", id="a-zone-of-the-host"),
        pytest.param("a-name-that-is-longer", "at most 52", id="a-long-name"),
        pytest.param("sunday-is-seven", "day of week", id="what-kubernetes-refuses"),
        pytest.param("always-restarts", "restartPolicy", id="what-no-job-may-do"),
        pytest.param("../../etc/passwd", "metadata.name", id="no-name"),
    ],
)
def test_what_cannot_be_migrated_is_said_with_the_reason(name: str, told: str) -> None:
    found = [migrate(each, now_s=NOW_S) for each in objects("not-to-migrate.yaml")]
    (one,) = [each for each in found if each.name.startswith(name)]
    assert one.manifest is None
    assert told in one.error


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"metadata": 5, "spec": []},
        {"metadata": {"name": "a"}},
        {"metadata": {"name": "a"}, "spec": {"schedule": 5}},
        {"metadata": {"name": "a"}, "spec": {"schedule": "* * * * *"}},
        {"metadata": {"name": "a"}, "spec": {"schedule": "* * * * *", "jobTemplate": []}},
        {"metadata": {"name": ["a"]}, "spec": {"schedule": "\ud800"}},
        {"kind": ["CronJob"], "apiVersion": {}, "metadata": {"name": "a"}},
    ],
    ids=str,
)
def test_a_broken_cronjob_is_not_migrated_and_nothing_else_happens(broken: dict[str, Any]) -> None:
    assert migrate(broken, now_s=NOW_S).error


@pytest.mark.parametrize(
    "more",
    [
        "  concurrencyPolicy: Sometimes\n",
        "  startingDeadlineSeconds: soon\n",
        "  startingDeadlineSeconds: -1\n",
        "  timeZone: Europe/Nowhere\n",
        "  successfulJobsHistoryLimit: many\n",
        "  concurrencyPolicy: [Forbid]\n",
        "  concurrencyPolicy: 0\n",
        '  suspend: "true"\n',
        "  suspend: 1\n",
        "  timeZone: 5\n",
        "  timeZone: [Europe/Paris]\n",
    ],
)
def test_a_wrong_value_is_not_guessed(more: str) -> None:
    migration = made(cronjob(more=more))
    assert migration.manifest is None
    assert more.partition(":")[0].strip() in migration.error or "Nowhere" in migration.error


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("metadata", []),
        ("metadata.namespace", 5),
        ("metadata.labels", ["a"]),
        ("metadata.annotations", "a"),
        ("spec", "a"),
        ("spec.jobTemplate", []),
        ("spec.jobTemplate.spec", []),
        ("spec.jobTemplate.metadata", "a"),
        ("spec.jobTemplate.metadata.labels", []),
    ],
)
def test_a_field_of_another_type_is_not_left_out_silently(path: str, wrong: object) -> None:
    given = yaml.safe_load(cronjob())
    given["spec"]["jobTemplate"]["metadata"] = {}
    *way, last = path.split(".")
    below = given
    for step in way:
        below = below[step]
    below[last] = wrong
    migration = migrate(given, now_s=NOW_S)
    assert migration.manifest is None
    assert migration.error.startswith(f"{path}: it is ")


@pytest.mark.parametrize("status", [None, [], [{"active": 1}], "none"])
def test_a_status_of_another_type_says_nothing(status: object) -> None:
    given = {**yaml.safe_load(cronjob()), "status": status}
    migration = migrate(given, now_s=NOW_S)
    assert migration.manifest is not None
    assert list(_warnings(given, migration.manifest, NOW_S)) == []


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_what_the_server_would_not_take_back_is_not_written(field: str) -> None:
    given = yaml.safe_load(cronjob())
    given["metadata"][field] = {"tier": 1}
    migration = migrate(given, now_s=NOW_S)
    assert migration.manifest is None
    assert f'metadata.{field}["tier"]: it is the number 1' in migration.error


@pytest.mark.parametrize(
    ("cron", "shortest", "longest", "window"),
    [
        pytest.param("* * * * *", "1m", "1m", 0, id="minutes-get-no-window"),
        pytest.param("*/5 * * * *", "5m", "5m", 30, id="five-minutes"),
        pytest.param("*/15 * * * *", "15m", "15m", 60, id="a-quarter-hour"),
        pytest.param("0 * * * *", "1h", "1h", 360, id="hourly"),
        pytest.param("0 2 * * *", "24h", "24h", 3600, id="daily-at-most-an-hour"),
        pytest.param("0 9 * * 1-5", "24h", "72h", 3600, id="weekdays"),
        pytest.param("* * 1 * *", "1m", "720h1m", 0, id="every-minute-of-the-first"),
        pytest.param("0 0 29 2 *", "35064h", "35064h", 3600, id="leap-days"),
        pytest.param("0 9 * * * @tz(Europe/Paris)", "23h", "25h", 3600, id="in-a-zone"),
        pytest.param(
            "0 0,23 1,5,15,16 * * @tz(Asia/Tokyo)", "1h", "361h", 360, id="over-one-midnight"
        ),
        pytest.param(
            "0 1,5 * * * @tz(Europe/Paris)", "3h", "20h", 1080, id="shorter-when-clocks-go-forward"
        ),
    ],
)
def test_gaps_and_the_window_that_auto_gives(
    cron: str, shortest: str, longest: str, window: int
) -> None:
    gap = shortest_gap(parse_schedule(cron), Year(LEAP_YEAR))
    assert gap is not None
    assert format_duration(gap.seconds * SECOND_NS) == shortest
    fields, _, zone = cron.removesuffix(")").partition(" @tz(")
    more = f"  timeZone: {zone}\n" if zone else ""
    spec = spec_of(made(cronjob(schedule=fields, more=more), spread="auto"))
    assert spec["policy"]["deadline"] == longest
    duration = format_duration(window * SECOND_NS)
    assert spec.get("window") == ({"mode": "after", "duration": duration} if window else None)


def test_a_window_is_given_where_it_is_asked_for_and_said() -> None:
    spread = made(cronjob(), spread=15 * 60 * SECOND_NS)
    assert spec_of(spread)["window"] == {"mode": "after", "duration": "15m"}
    assert any("a window of 15m" in note for note in spread.notes)
    assert spec_of(made(cronjob(), spread="auto"))["window"]["duration"] == "1h"
    assert "window" not in spec_of(made(cronjob(schedule="* * * * *"), spread="auto"))
    assert "window" not in spec_of(made(cronjob()))
    wide = made(cronjob(schedule="*/5 * * * *"), spread=600 * SECOND_NS)
    assert any("not shorter than the time between runs" in note for note in wide.notes)


@pytest.mark.parametrize("path", sorted(CRONJOBS.glob("*")), ids=lambda path: path.name)
def test_what_is_written_reads_as_what_was_meant(path: Path, kronctl: Kronctl) -> None:
    """Also by a reader of another kind: the server's has no octal or sexagesimal surprises."""
    for each in objects(path.name):
        migration = migrate(each, now_s=NOW_S, spread="auto")
        if migration.manifest is None:
            continue
        text = rendered(migration.manifest, migration.notes)
        assert yaml.safe_load(text) == migration.manifest
        kronctl.write("made.yaml", text)
        (read,) = read_manifests([kronctl.path("made.yaml")]).objects
        assert read.content == migration.manifest
        for note in migration.notes:
            assert f"# {note}\n" in text


def test_words_that_readers_disagree_on_are_in_quotes() -> None:
    words = [
        "y",
        "no",
        "1e3",
        "0644",
        "12:30:00",
        "~",
        "0x1",
        "2026-01-01",
        ".5",
        "-",
        "é",
        "\ud7ff",
    ]
    text = rendered({"args": [*words, "a\nb\n", "\ttab\n", "# no comment", "x: y"]})
    for word in words[:10]:
        assert f"- {json.dumps(word)}\n" in text or f"- '{word}'\n" in text
    assert yaml.safe_load(text)["args"][: len(words)] == words


def test_manifests_go_to_standard_output_and_notes_to_standard_error(kronctl: Kronctl) -> None:
    kronctl.write("jobs.yaml", f"{cronjob('one')}---\n{cronjob('two', '@every 7m')}")
    ran = kronctl("migrate", "-f", "jobs.yaml")
    assert ran.code == 1
    (only,) = yaml.safe_load_all(ran.out)
    assert only["metadata"] == {"name": "one", "namespace": "prod"}
    assert "prod/one: note: no startingDeadlineSeconds" in ran.err
    assert 'prod/two: not migrated: the schedule "@every 7m"' in ran.err
    assert "2 CronJobs without timeZone" not in ran.err
    assert "1 CronJob without timeZone" in ran.err
    assert ran.err.endswith("1 of 2 CronJobs can be migrated\n")


def test_a_directory_gets_a_file_for_each_and_none_is_written_over(kronctl: Kronctl) -> None:
    kronctl.write("jobs.yaml", cronjob("one"))
    words = ("migrate", "-f", "jobs.yaml", "--output", "out")
    ran = kronctl(*words)
    assert (ran.code, ran.lines) == (0, ["out/prod.one.yaml"])
    assert yaml.safe_load(kronctl.read("out/prod.one.yaml"))["kind"] == "KronJob"
    again = kronctl(*words)
    assert again.code == 2
    assert "out/prod.one.yaml exists already (name another directory)" in again.err


def test_a_file_in_place_of_the_directory_is_named(kronctl: Kronctl) -> None:
    kronctl.write("jobs.yaml", cronjob("one"))
    ran = kronctl("migrate", "-f", "jobs.yaml", "--output", "jobs.yaml")
    assert ran.code == 2
    assert "kronctl: jobs.yaml exists already (name another directory)" in ran.err


def test_two_cronjobs_for_one_file_are_refused_before_any_is_written(kronctl: Kronctl) -> None:
    kronctl.write("jobs.yaml", f"{cronjob('one')}---\n{cronjob('two')}---\n{cronjob('two')}")
    ran = kronctl("migrate", "-f", "jobs.yaml", "--output", "out")
    assert (ran.code, ran.out) == (1, "")
    assert "out/prod.two.yaml would be written twice, for CronJobs called prod/two" in ran.err
    assert not (kronctl.directory / "out").exists()


def test_a_file_that_is_there_is_found_before_any_is_written(kronctl: Kronctl) -> None:
    kronctl.write("jobs.yaml", f"{cronjob('one')}---\n{cronjob('two')}")
    kronctl.write("out/prod.two.yaml", "")
    ran = kronctl("migrate", "-f", "jobs.yaml", "--output", "out")
    assert (ran.code, ran.out) == (2, "")
    assert not (kronctl.directory / "out/prod.one.yaml").exists()


def test_only_those_that_are_named(kronctl: Kronctl) -> None:
    kronctl.write("jobs.yaml", f"{cronjob('one')}---\n{cronjob('two')}")
    words = ("migrate", "-f", "jobs.yaml", "--format", "json", "--at", "2026-03-01")
    assert [each["name"] for each in kronctl(*words, "prod/two").json["cronjobs"]] == ["two"]
    assert 'the CronJob "three" does not exist' in kronctl(*words, "three").err
    assert 'did you mean "one"' in kronctl(*words, "onne").err


def test_each_name_is_looked_for_in_its_namespace(kronctl: Kronctl) -> None:
    kronctl.write("jobs.yaml", cronjob("one"))
    ran = kronctl("migrate", "-f", "jobs.yaml", "prod/one", "test/one")
    assert (ran.code, ran.out) == (1, "")
    assert 'the CronJob "test/one" does not exist' in ran.err
    kronctl.write("jobs.yaml", cronjob("one").replace(", namespace: prod", ""))
    assert kronctl("migrate", "-f", "jobs.yaml", "prod/one").code == 1
    ran = kronctl("migrate", "-f", "jobs.yaml", "-n", "prod", "prod/one")
    assert ran.code == 0
    assert yaml.safe_load(ran.out)["metadata"] == {"name": "one", "namespace": "prod"}


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("batch/v1", "batch/v2alpha1", '"batch/v2alpha1" is not one of batch/v1'),
        ("batch/v1", "bacth/v1", '"bacth/v1" is not one of batch/v1'),
        ("kind: CronJob", "kind: Cronjob", '"Cronjob" is not one of CronJob'),
    ],
)
def test_what_is_plainly_meant_as_a_cronjob_is_refused_by_name(
    kronctl: Kronctl, right: str, wrong: str, told: str
) -> None:
    kronctl.write("jobs.yaml", f"{cronjob('one').replace(right, wrong)}---\n{cronjob('two')}")
    ran = kronctl("migrate", "-f", "jobs.yaml", "--format", "json")
    assert ran.code == 1
    one, two = ran.json["cronjobs"]
    assert told in one["error"]
    assert two["error"] == ""


def test_cronjobs_of_another_group_and_jobs_are_passed_over(kronctl: Kronctl) -> None:
    other = cronjob().replace("batch/v1", "example.com/v1")
    kronctl.write("jobs.yaml", f"{other}---\n{cronjob().replace('kind: CronJob', 'kind: Job')}")
    ran = kronctl("migrate", "-f", "jobs.yaml")
    assert (ran.code, ran.err) == (0, "no CronJobs were found in these files\n")


def test_a_list_of_the_server_says_the_type_of_its_items(kronctl: Kronctl) -> None:
    given = yaml.safe_load(cronjob("one"))
    items = [{key: given[key] for key in ("metadata", "spec")}]
    listed = {"apiVersion": "batch/v1", "kind": "CronJobList", "items": items}
    kronctl.write("jobs.json", json.dumps(listed))
    ran = kronctl("migrate", "-f", "jobs.json", "--format", "json")
    assert [each["error"] for each in ran.json["cronjobs"]] == [""]


@pytest.mark.parametrize(
    ("answer", "is_confirmed"), [("y\n", True), ("YES\n", True), ("\n", False), ("", False)]
)
def test_a_person_is_asked_and_silence_is_no(
    monkeypatch: pytest.MonkeyPatch, answer: str, is_confirmed: bool
) -> None:
    class Person(io.StringIO):
        def isatty(self) -> bool:
            return True

    asked = io.StringIO()
    monkeypatch.setattr(sys, "stdin", Person(answer))
    terminal = Terminal(io.StringIO(), asked)
    assert _is_confirmed(2, terminal) == is_confirmed
    assert asked.getvalue() == "Replace 2 CronJobs by KronJobs? [y/N] "


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(("--apply", "-f", "a.yaml"), "CronJobs of the cluster", id="apply-of-files"),
        pytest.param(("--apply", "--output", "x"), "prints no manifests", id="apply-and-output"),
        pytest.param(
            ("-f", "x.yaml", "--output", "x", "--format", "json"),
            "cannot be used with --format json",
            id="output-and-json",
        ),
        pytest.param(("--apply", "--format", "json"), "prints no manifests", id="apply-and-json"),
        pytest.param(("--yes",), "need --apply", id="yes-to-nothing"),
        pytest.param(("--spread", "0s"), "not between 1s", id="no-window"),
        pytest.param(("--spread", "500d"), "duration", id="days"),
        pytest.param(("--spread", "9000h"), "366 days", id="a-year-and-more"),
    ],
)
def test_a_command_line_that_contradicts_itself_is_refused(
    kronctl: Kronctl, words: tuple[str, ...], told: str
) -> None:
    kronctl.write("a.yaml", cronjob())
    ran = kronctl("migrate", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
