"""`kronctl validate`: all errors at once, each at its line and column, whatever the file is."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import kron.kube.kronctl.values
from kron.core.limits import DEFAULT_LIMITS
from kron.kube.kronctl.manifest import read_manifests
from kron.kube.kronctl.values import resolved
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import TEMPLATE, kronjob
from tests.soak import examples

GOOD = kronjob()
NO_TIME = "metadata: {creationTimestamp: null}"
WITHOUT_TEMPLATE = GOOD.replace(f"  jobTemplate: {TEMPLATE}\n", "")


def places(kronctl: Kronctl, text: str | bytes, *words: str, name: str = "a.yaml") -> list[str]:
    """`line:column code` of each finding."""
    kronctl.write(name, text)
    ran = kronctl("validate", "-f", name, "--format", "json", *words)
    assert ran.code in (0, 1)
    assert ran.json["errors"] == len(ran.json["findings"])
    assert bool(ran.json["findings"]) == ran.code
    return [
        f"{finding['line']}:{finding['column']} {finding['code']}"
        for finding in ran.json["findings"]
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(GOOD, [], id="good"),
        pytest.param(kronjob(schedule="daily around 14:00"), [], id="fuzzy"),
        pytest.param(
            GOOD.replace(
                "{spec: {template: {spec:", f"{{{NO_TIME}, spec: {{template: {{{NO_TIME}, spec:"
            ),
            [],
            id="a-template-as-kubectl-writes-it",
        ),
        pytest.param(kronjob(schedule="0 25 * * *"), ["7:15 cron-field"], id="cron-in-the-text"),
        pytest.param(kronjob(schedule='"0 25 * * *"'), ["7:16 cron-field"], id="cron-in-quotes"),
        pytest.param(
            kronjob(schedule=">-\n    0 25\n    * * *"), ["7:13 cron-field"], id="cron-folded"
        ),
        pytest.param(
            kronjob(schedule="0 2 * * *", more="  window: {mode: after, duration: 3x}\n"),
            ["8:35 duration"],
            id="within-a-flow",
        ),
        pytest.param(kronjob(more="  windw: {}\n"), ["8:3 field-unknown"], id="an-unknown-field"),
        pytest.param(
            kronjob(more="  timeZone: Europe/Pariss\n"), ["8:13 zone-unknown"], id="a-zone"
        ),
        pytest.param(
            kronjob(more="  timezone: Europe/Paris\n  suspend: true\n"),
            ["8:3 field-unknown", "9:3 field-unknown"],
            id="other-spellings",
        ),
        pytest.param(
            kronjob(more="  policy:\n    concurrency: maybe\n    suspend: maybe\n"),
            ["9:18 value-unknown", "10:14 field-form"],
            id="two-at-once",
        ),
        pytest.param(
            kronjob(more="  constraints:\n    only:\n      - hours=8-18\n      - hours=99\n"),
            ["11:9 constraint"],
            id="an-item-of-a-list",
        ),
        pytest.param(
            kronjob(more="  timeZone: UTC\n  timeZone: UTC\n"),
            ["9:3 field-repeated"],
            id="a-key-twice",
        ),
        pytest.param(
            GOOD.replace("spec:", "  labels: {team: a, example.com/tier: 1}\nspec:", 1),
            ["6:39 field-form"],
            id="a-label-that-is-no-text",
        ),
        pytest.param(
            GOOD.replace("spec:", "  labels: {team: a b, -x: y}\nspec:", 1),
            ["6:18 field-form", "6:27 field-form"],
            id="labels-that-are-refused",
        ),
        pytest.param(
            GOOD.replace("spec:", "  annotations: {a b: c, Example.test/x: a b}\nspec:", 1),
            ["6:22 field-form"],
            id="an-annotation-that-is-refused",
        ),
        pytest.param(
            kronjob(more="  successfulJobsHistoryLimit: 3.0\n  failedJobsHistoryLimit: 1.5\n"),
            ["9:27 field-form"],
            id="a-whole-number-with-a-point",
        ),
        pytest.param(WITHOUT_TEMPLATE, ["6:1 field-missing"], id="missing"),
        pytest.param(f"{GOOD}---\n{GOOD}", ["13:9 name-repeated"], id="the-same-name-twice"),
        pytest.param(f"{GOOD}---\n---\n# nothing\n", [], id="nothing-between-documents"),
        pytest.param("kind: ConfigMap\napiVersion: v1\n", [], id="another-kind"),
        pytest.param("kind: KronJob\napiVersion: example.com/v1\n", [], id="another-group"),
        pytest.param(
            GOOD.replace("kind: KronJob", "kind: Kronjob"),
            ["2:7 field-value"],
            id="a-misspelt-kind",
        ),
        pytest.param(
            GOOD.replace("kron.io/", "kron.oi/"), ["1:13 field-value"], id="a-misspelt-group"
        ),
        pytest.param(
            GOOD.replace("kron.io/v1alpha1", "v1alpha1"), ["1:13 field-value"], id="no-group"
        ),
        pytest.param(
            "kind: CronJob\napiVersion: kron.io/v1alpha1\nmetadata: {name: a}\n",
            ["1:1 field-missing", "1:7 field-value"],
            id="a-kind-of-another-group",
        ),
        pytest.param("kind: CronJob\napiVersion: batch/v1\n", [], id="a-cronjob"),
        pytest.param("kind: AllowList\nitems: [a, b]\n", [], id="no-list-of-objects"),
        pytest.param("kind: List\nitems: [a]\n", ["2:9 text"], id="a-list-of-words"),
        pytest.param("kind: KronJobList\nitems:\n", [], id="a-list-of-nothing"),
        pytest.param("- 1\n- 2\n", ["1:1 text"], id="no-object"),
        pytest.param("just words\n", ["1:1 text"], id="no-mapping"),
    ],
)
def test_every_error_is_found_at_its_place(kronctl: Kronctl, text: str, found: list[str]) -> None:
    assert places(kronctl, text) == found


def test_labels_of_kron_in_a_template_are_a_warning_and_no_error(kronctl: Kronctl) -> None:
    metadata = "metadata: {labels: {kron.io/name: x, kron.iot/a: b}, annotations: {kron.io/x: y}}"
    template = f"{{{metadata}, spec: {{template: {{{metadata}, spec:"
    kronctl.write("a.yaml", GOOD.replace("{spec: {template: {spec:", template))
    ran = kronctl("validate", "-f", "a.yaml").fine()
    assert ran.lines[0] == (
        'a.yaml:8:51: warning: spec.jobTemplate.metadata.labels["kron.io/name"]: it is left out of '
        "Jobs: what begins with kron.io/ is Kron's own [field-value]"
    )
    assert ran.lines[-1] == "0 errors and 4 warnings in 1 KronJob of 1 file"
    found = kronctl("validate", "-f", "a.yaml", "--format", "json").fine().json
    assert (found["errors"], found["warnings"]) == (0, 4)
    assert {each["severity"] for each in found["findings"]} == {"warning"}
    kronctl.write("b.yaml", GOOD.replace("{spec: {template: {spec:", template) + "  windw: {}\n")
    ran = kronctl("validate", "-f", "b.yaml")
    assert (ran.code, ran.lines[-1]) == (1, "1 error and 4 warnings in 1 KronJob of 1 file")


def test_the_items_of_a_list_are_objects_too(kronctl: Kronctl) -> None:
    item = "\n".join(f"    {line}" for line in kronjob(schedule="0 25 * * *").splitlines())
    text = f"apiVersion: v1\nkind: List\nitems:\n  -\n{item}\n"
    assert places(kronctl, text) == ["11:19 cron-field"]


def test_the_items_of_a_typed_list_are_of_its_type(kronctl: Kronctl) -> None:
    item = kronjob(schedule="0 25 * * *").partition("metadata:")[2]
    lines = "".join(f"    {line}\n" for line in f"metadata:{item}".splitlines())
    text = f"apiVersion: kron.io/v1alpha1\nkind: KronJobList\nitems:\n  -\n{lines}"
    assert places(kronctl, text) == ["9:19 cron-field"]
    assert places(kronctl, text.replace("0 25", "0 23")) == []


def test_json_is_read_as_well(kronctl: Kronctl) -> None:
    obj = {
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": {"name": "a"},
        "spec": {"schedule": "0 25 * * *", "jobTemplate": {"spec": {}}},
    }
    text = json.dumps(obj, indent="\t")
    found = places(kronctl, text, name="a.json")
    assert found == ["8:18 cron-field", "10:4 field-missing"]


def as_json(schedule: str, note: str = "", name: str = "a") -> str:
    """A KronJob on one line, as Python writes it: a character beyond 16 bits is two escapes."""
    obj = {
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": {"name": name, "annotations": {"note": note}},
        "spec": {"jobTemplate": yaml.safe_load(TEMPLATE), "schedule": schedule},
    }
    return json.dumps(obj)


@pytest.mark.parametrize(
    "note", ["\U0001f600 hi", "\\ud83d\\ude00", "a\\\U0001f600\U0010ffff", "é"]
)
def test_json_with_escapes_in_pairs_is_read_and_its_places_are_right(
    kronctl: Kronctl, note: str
) -> None:
    assert places(kronctl, as_json("0 2 * * *", note)) == []
    (only,) = read_manifests([kronctl.path("a.yaml")]).objects
    assert only.content["metadata"]["annotations"] == {"note": note}
    text = as_json("0 25 * * *", note)
    column = text.index("0 25") + 1
    assert places(kronctl, text) == [f"1:{column + 2} cron-field"]


def test_half_a_pair_is_refused_with_what_to_write(kronctl: Kronctl) -> None:
    kronctl.write("a.json", as_json("0 2 * * *", "\ud83d"))
    ran = kronctl("validate", "-f", "a.json")
    assert ran.code == 1
    assert "fix: write the character itself" in ran.out


@pytest.mark.parametrize("between", ["\n", "", " \n\n", "\r\n"])
def test_json_objects_one_after_another_are_read(kronctl: Kronctl, between: str) -> None:
    kronctl.write("a.json", between.join([as_json("0 2 * * *"), as_json("0 25 * * *", name="b")]))
    ran = kronctl("validate", "-f", "a.json", "--format", "json")
    assert ran.json["kronjobs"] == 2
    line = 1 + between.count("\n")
    assert [(each["line"], each["code"]) for each in ran.json["findings"]] == [(line, "cron-field")]


def test_what_begins_like_json_and_is_yaml_is_read_as_yaml(kronctl: Kronctl) -> None:
    assert places(kronctl, "{kind: Pod}\n---\n{kind: Pod}\n") == []
    assert places(kronctl, '{"kind": "Pod"} # one\n') == []


def test_what_is_wrong_with_a_later_object_of_json_is_said_at_its_place(kronctl: Kronctl) -> None:
    assert places(kronctl, '{"a": 1}\n{"a": [}\n') == ["2:8 text"]


def test_aliases_and_merges_mean_what_they_say(kronctl: Kronctl) -> None:
    text = (
        "apiVersion: kron.io/v1alpha1\nkind: KronJob\nmetadata: &who {name: a, namespace: b}\n"
        "spec:\n  <<: {schedule: 0 2 * * *, timeZone: UTC}\n  timeZone: Europe/Paris\n"
        f"  jobTemplate: {TEMPLATE}\n---\n"
    )
    assert places(kronctl, text) == []
    (only,) = read_manifests([kronctl.path("a.yaml")]).objects
    assert only.content["spec"]["timeZone"] == "Europe/Paris"
    assert only.content["spec"]["schedule"] == "0 2 * * *"


def bomb(levels: int, width: int = 10) -> str:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(bomb(30), ["7:15 limit"], id="a-bomb"),
        pytest.param("a: &a [*a]\n", ["1:8 text"], id="an-alias-of-itself"),
        pytest.param("a: *b\n", ["1:4 text"], id="an-alias-of-nothing"),
        pytest.param("[" * 100_000, ["1:101 limit"], id="brackets"),
        pytest.param(
            "a:\n" + "".join(f"{' ' * n}- \n" for n in range(500)), ["101:100 limit"], id="deep"
        ),
        pytest.param("a: !!python/object:os.system x\n", ["1:4 text"], id="a-tag"),
        pytest.param("y: !!set {a}\nq: ? [a]\n", ["1:4 text"], id="a-tag-before-no-yaml"),
        pytest.param("? [a]\n: 1\nq: ]\n", ["1:3 text"], id="a-key-before-no-yaml"),
        pytest.param(
            "a: 1\na: ]\n", ["2:1 field-repeated", "2:4 text"], id="a-key-twice-before-no-yaml"
        ),
        pytest.param("<<: {a: 1}\nb: ]\n", ["2:4 text"], id="no-yaml-behind-a-merge"),
        pytest.param("a: !!binary aGk=\n", ["1:4 text"], id="binary"),
        pytest.param("a: !!set {x}\n", ["1:4 text"], id="a-set"),
        pytest.param("a: [1\n", ["2:1 text"], id="no-end"),
        pytest.param("a:\n\t- b\n", ["2:1 text"], id="a-tab"),
        pytest.param("? [a]\n: b\n", ["1:3 text"], id="a-key-that-is-a-list"),
        pytest.param("a: &x [b]\n*x : c\n", ["2:1 text"], id="an-alias-of-a-list-as-a-key"),
        pytest.param(b"a: \xff\n", ["1:4 text"], id="no-utf-8"),
        pytest.param("a: \x07\n", ["1:4 text"], id="a-bell"),
        pytest.param("\ufeffa: *b\n", ["1:4 text"], id="a-byte-order-mark"),
        pytest.param("a: b\r\nb: *c\r\n", ["2:4 text"], id="carriage-returns"),
        pytest.param("%YAML 9.9\n---\na: b\n", ["1:1 text"], id="a-version"),
        pytest.param("kind: KronJob\n", ["1:1 field-missing"] * 3, id="a-kind-alone"),
    ],
)
def test_a_hostile_file_is_an_error_at_a_place(
    kronctl: Kronctl, text: str | bytes, found: list[str]
) -> None:
    assert places(kronctl, text) == found


def test_more_values_than_are_read_are_refused(
    kronctl: Kronctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kron.kube.kronctl.values, "MOST_VALUES", 1000)
    assert places(kronctl, "- x\n" * 999 + "\n") == ["1:1 text"]
    assert places(kronctl, "- x\n" * 1000 + "\n") == ["1000:3 limit"]
    monkeypatch.setattr(kron.kube.kronctl.values, "MOST_DOCUMENTS", 10)
    assert places(kronctl, "{}\n" * 11) == ["11:1 limit"]


def test_a_file_that_is_too_long_is_refused(kronctl: Kronctl) -> None:
    kronctl.write("a.yaml", b"#" * (DEFAULT_LIMITS.file_bytes + 1))
    ran = kronctl("validate", "-f", "a.yaml")
    assert ran.code == 2
    assert "longer than 8,388,608 bytes" in ran.out
    assert kronctl("list", "-f", "a.yaml").code == 2


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
@examples(100)
def test_no_text_is_a_traceback(text: str) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(text.encode(errors="surrogatepass"))
        file.flush()
        for manifest in read_manifests([file.name]).objects:
            json.dumps(manifest.content)


def test_directories_are_read_to_their_bottom(kronctl: Kronctl) -> None:
    kronctl.write("d/one.yaml", kronjob("one"))
    kronctl.write("d/e/two.yml", kronjob("two", "0 25 * * *"))
    kronctl.write("d/e/three.json", "{}")
    kronctl.write("d/.git/four.yaml", "a: [")
    kronctl.write("d/five.txt", "a: [")
    ran = kronctl("validate", "-f", "d", "--format", "json")
    assert ran.json["files"] == ["d/e/three.json", "d/e/two.yml", "d/one.yaml"]
    assert [finding["path"] for finding in ran.json["findings"]] == ["d/e/two.yml"]


def test_standard_input_is_a_dash(kronctl: Kronctl) -> None:
    ran = kronctl("validate", "-f", "-", given=kronjob(schedule="0 25 * * *"))
    assert ran.code == 1
    assert ran.out.startswith("-:7:15: error: spec.schedule")


def test_a_pipe_is_read_to_its_end_however_late_it_is_written_to(kronctl: Kronctl) -> None:
    text = kronjob(schedule="0 25 * * *")
    os.mkfifo(kronctl.path("a.yaml"))
    with ThreadPoolExecutor(1) as pool:
        findings = pool.submit(read_manifests, [kronctl.path("a.yaml")])
        with Path(kronctl.path("a.yaml")).open(
            "w"
        ) as pipe:  # opened by the reader before, or not yet
            for part in text.partition("spec"):
                pipe.write(part)
                pipe.flush()
        read = findings.result()
    assert read.findings == ()
    assert [each.content["spec"]["schedule"] for each in read.objects] == ["0 25 * * *"]


def test_a_pipe_that_a_program_still_writes_to_is_waited_for(kronctl: Kronctl) -> None:
    reading, writing = os.pipe()
    with ThreadPoolExecutor(1) as pool, os.fdopen(reading, "rb"), os.fdopen(writing, "w") as pipe:
        read = pool.submit(read_manifests, [f"/dev/fd/{reading}"])
        assert not wait([read], timeout=0.2).done
        pipe.write(GOOD)
        pipe.close()
        assert [each.name for each in read.result().objects] == ["backup"]


def test_a_pipe_within_a_directory_is_not_waited_for(kronctl: Kronctl) -> None:
    kronctl.write("d/one.yaml", GOOD)
    os.mkfifo(kronctl.path("d/two.yaml"))
    assert [each.name for each in read_manifests([kronctl.path("d")]).objects] == ["backup"]


def test_a_device_is_read_to_its_end_as_well(kronctl: Kronctl) -> None:
    """Here the person at a terminal types something and ^D."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "wb", 0) as person, os.fdopen(theirs, "rb"):
        person.write(b"kind: Pod\n\x04")
        read = read_manifests([os.ttyname(theirs)])
        assert [each.kind for each in read.objects] == ["Pod"]


def test_text_shows_the_line_the_place_and_the_fix(kronctl: Kronctl) -> None:
    kronctl.write("a.yaml", kronjob(more="  timeZone: Europe/Pariss\n") + "---\nkind: Pod\n")
    ran = kronctl("validate", "-f", "a.yaml", "-v")
    assert ran.lines == [
        'a.yaml:8:13: error: spec.timeZone: "Europe/Pariss" is not the name of an IANA time zone '
        "[zone-unknown]",
        "    timeZone: Europe/Pariss",
        "              ^^^^^^^^^^^^^",
        '  fix: did you mean "Europe/Paris"?',
        "1 error in 1 KronJob of 1 file, 1 other skipped",
    ]
    assert ran.err == "a.yaml:11: skipped: no apiVersion Pod \n"


def test_the_namespace_that_applies_tells_names_apart(kronctl: Kronctl) -> None:
    without = GOOD.replace("  namespace: prod\n", "")
    kronctl.write("a.yaml", f"{GOOD}---\n{without}")
    assert kronctl("validate", "-f", "a.yaml").code == 0
    assert kronctl("validate", "-f", "a.yaml", "-n", "prod").code == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param((), 2, id="nothing-named"),
        pytest.param(("-f", "absent.yaml"), 2, id="absent"),
        pytest.param(("-f", ""), 2, id="an-empty-path"),
        pytest.param(("-f", "empty"), 2, id="a-directory-without-manifests"),
        pytest.param(("-f", "loop.yaml"), 2, id="a-link-to-itself"),
    ],
)
def test_a_file_that_cannot_be_had_is_said(
    kronctl: Kronctl, words: tuple[str, ...], code: int
) -> None:
    (kronctl.directory / "empty").mkdir()
    (kronctl.directory / "loop.yaml").symlink_to("loop.yaml")
    ran = kronctl("validate", *words)
    assert ran.code == code
    assert ran.out + ran.err
    if words:
        assert kronctl("list", *words).code == code


@pytest.mark.parametrize("given", ["", "---\n# nothing\n"], ids=["empty", "a-comment"])
def test_an_input_without_any_object_is_no_success(kronctl: Kronctl, given: str) -> None:
    """A pipe whose first program has failed, for one."""
    ran = kronctl("validate", "-f", "-", given=given)
    assert ran.code == 2
    assert "-: error: no object was found" in ran.out
    ran = kronctl("validate", "-f", "-", "--format", "json", given=given)
    assert (ran.code, ran.json["errors"]) == (2, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("off", False),
        ("~", None),
        ("", None),
        ("0644", 420),
        ("0o17", 15),
        ("0x1F", 31),
        ("-12", -12),
        ("1e3", 1000),
        ("3.0", 3),
        ("-0.0", 0),
        ("1e21", 1e21),
        (".5", 0.5),
        ("12:30:00", "12:30:00"),
        ("2026-01-01", "2026-01-01"),
        ("1_000", "1_000"),
        ("-", "-"),
        ("0 2 * * *", "0 2 * * *"),
        ("y", "y"),
        (".nan", ".nan"),
    ],
)
def test_a_plain_word_means_what_it_means_to_kubernetes(text: str, value: object) -> None:
    assert resolved(text) == value
    assert type(resolved(text)) is type(value)
