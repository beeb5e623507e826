"""Names as kubectl has them, and what kronctl says of those that do not exist."""

from __future__ import annotations

import pytest

from kron.console.parser import UsageError
from kron.kube.client.resources import CRONJOBS
from kron.kube.kronctl import completer
from kron.kube.kronctl.name import Name, name_of, typed
from tests.krontab.command import AT
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import cronjob, kronjob
from tests.kube.kronctl.server import answering, serving, use


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("web", Name("", "web")),
        ("prod/web", Name("prod", "web")),
        ("kronjob/web", Name("", "web")),
        ("kronjobs/web", Name("", "web")),
        ("KronJob/web", Name("", "web")),
        ("kj/web", Name("", "web")),
        ("kronjobs.kron.io/web", Name("", "web")),
        ("kronjobs.v1alpha1.kron.io/web", Name("", "web")),
        (typed("web"), Name("", "web")),
        ("cj/web", Name("cj", "web")),
    ],
)
def test_a_type_before_the_slash_is_no_namespace(word: str, expected: Name) -> None:
    assert name_of(word) == expected


def test_cronjobs_have_their_own_types() -> None:
    assert name_of("cj/web", CRONJOBS) == name_of("cronjobs.batch/web", CRONJOBS) == Name("", "web")
    assert name_of("kj/web", CRONJOBS) == Name("kj", "web")


@pytest.mark.parametrize("word", ["", "/", "/web", "web/", "a/b/c", "prod/kj/web"])
def test_what_is_no_name_is_refused_with_the_forms_of_one(word: str) -> None:
    with pytest.raises(UsageError, match="write NAME, NAMESPACE/NAME or kj/NAME"):
        name_of(word)


@pytest.mark.parametrize("namespace", ["a/b", "../kube-system", "..", ".", "Prod", "a.b", "x" * 64])
@pytest.mark.parametrize(
    "words", [("list",), ("suspend", "quick"), ("validate", "-f", "-"), ("doctor",)], ids=" ".join
)
def test_what_cannot_be_a_namespace_is_a_wrong_command_line(
    kronctl: Kronctl, words: tuple[str, ...], namespace: str
) -> None:
    """Not a resource that is not installed, and no request elsewhere."""
    with answering(lambda *_: (500, {})) as address:
        use(kronctl, address)
        ran = kronctl(*words, "-n", namespace)
    assert (ran.code, ran.out) == (2, "")
    assert f'argument -n/--namespace: "{namespace[:50]}' in ran.err
    assert "is not the name of a namespace" in ran.err


@pytest.mark.parametrize("word", ["../web", "./web", "Prod/web", "a.b/web", "jobs.batch/web"])
def test_what_cannot_be_the_namespace_of_a_name_is_refused(kronctl: Kronctl, word: str) -> None:
    with pytest.raises(UsageError, match="is not the name of a namespace"):
        name_of(word)
    with answering(lambda *_: (500, {})) as address:
        use(kronctl, address)
        ran = kronctl("trigger", word)
        with kronctl._place(kronctl.environment):
            assert completer.main(["next", word]) == 0
    assert (ran.code, ran.out) == (2, "")


def test_an_empty_namespace_is_that_of_the_context(kronctl: Kronctl) -> None:
    """As for kubectl."""
    with serving(kronjob()) as address:
        use(kronctl, address)
        assert kronctl("list", "-n", "", "--format", "names").fine().lines == ["prod/backup"]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("next",), "KronJob"),
        (("explain",), "KronJob"),
        (("list",), "KronJob"),
        (("trigger",), "KronJob"),
        (("migrate",), "CronJob"),
    ],
    ids=lambda words: words[0],
)
def test_what_does_not_exist_is_said_in_plain_words(
    kronctl: Kronctl, words: tuple[str, ...], kind: str
) -> None:
    with serving(kronjob(), cronjob("backup")) as address:
        use(kronctl, address)
        ran = kronctl(*words, "bakcup")
        assert (ran.code, ran.out) == (1, "")
        assert f'the {kind} "prod/bakcup" does not exist (did you mean "backup"?)' in ran.err
        assert "404" not in ran.err
        ran = kronctl(*words, "prd/backup")
        assert ran.code == 1
        assert 'the namespace "prd" does not exist (did you mean "prod"?)' in ran.err


def test_suspend_says_it_too(kronctl: Kronctl) -> None:
    with serving(kronjob()) as address:
        use(kronctl, address)
        ran = kronctl("suspend", "bakcup", "prd/backup")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        'prod/bakcup: this KronJob does not exist (did you mean "backup"?)',
        'prd/backup: this namespace does not exist (did you mean "prod"?)',
    ]


@pytest.mark.parametrize("words", [("list",), ("migrate",), ("suspend", "--all")], ids=" ".join)
def test_a_namespace_that_does_not_exist_is_no_empty_one(
    kronctl: Kronctl, words: tuple[str, ...]
) -> None:
    with serving(kronjob()) as address:
        use(kronctl, address)
        ran = kronctl(*words, "-n", "prd")
        assert (ran.code, ran.out) == (1, "")
        assert 'the namespace "prd" does not exist (did you mean "prod"?)' in ran.err


def test_names_may_stand_on_both_sides_of_an_option(kronctl: Kronctl) -> None:
    """As for kubectl."""
    with serving(kronjob(), kronjob("report"), cronjob("old"), cronjob("older")) as address:
        use(kronctl, address)
        ran = kronctl("list", "report", "-n", "prod", "backup", "--format", "names")
        assert ran.fine().lines == ["prod/backup", "prod/report"]
        ran = kronctl("migrate", "old", "-n", "prod", "older", "--format", "json")
        assert [each["name"] for each in ran.json["cronjobs"]] == ["old", "older"]
        ran = kronctl("suspend", "a", "-n", "prod", "b")
        assert ran.err.count("does not exist") == 2
        ran = kronctl("list", "backup", "-n", "prod", "report", "--wtach")
        assert (ran.code, 'did you mean "--watch"?' in ran.err) == (2, True)
    kronctl.write("a.yaml", kronjob())
    assert kronctl("diff", "a.yaml", "--days", "2", "a.yaml").code == 0
    ran = kronctl("next", "backup", "-n", "prod", "report")
    assert (ran.code, 'unrecognized arguments: "report"' in ran.err) == (2, True)


def test_every_form_of_a_name_is_accepted_where_a_name_is(kronctl: Kronctl) -> None:
    with serving(kronjob()) as address:
        use(kronctl, address)
        plain = kronctl("next", "backup", "--at", AT).fine()
        for word in ("prod/backup", "kj/backup", "kronjobs.kron.io/backup"):
            assert kronctl("next", word, "--at", AT).fine() == plain
            assert kronctl("list", word, "--format", "names").fine().lines == ["prod/backup"]
    kronctl.write("a.yaml", kronjob())
    assert kronctl("next", "kj/backup", "-f", "a.yaml", "--at", AT).fine() == plain
    assert kronctl("list", "kj/backup", "-f", "a.yaml", "-o", "name").fine().lines == [
        "kronjob.kron.io/backup"
    ]
