"""Warnings about defaults, and about fields that jobs have from them."""

from __future__ import annotations

from kron.jobs.document import read_document
from kron.jobs.finding import Finding
from kron.lint import Advice, Host, PathKind, advise
from tests.lint.linted import NOW, PATH, FakeHost

JOB = "7 2 * * * @win(after,2h)"
TRUE = {"/bin/true": PathKind.PROGRAM}


def warnings(*lines: str, host: Host | None = None) -> list[Finding]:
    document = read_document("\n".join(lines).encode(), PATH)
    assert document.findings == ()
    return list(advise([document], now=NOW, host=host))


def test_defaults_above_no_job_are_unused() -> None:
    found = warnings("defaults: nice=1", "defaults:", f"{JOB} name=a command=x", "defaults: nice=2")
    assert [(each.code, each.line) for each in found] == [
        (Advice.DEFAULTS_UNUSED, 1),
        (Advice.DEFAULTS_UNUSED, 4),
    ]


def test_defaults_that_every_job_overrides_are_named() -> None:
    (found,) = warnings(
        "defaults: @policy(deadline=1h) nice=1 env=A=1 env=B=1",
        f"{JOB} @policy(deadline=2h) name=a command=x env=A=2",
        f"{JOB} @policy(deadline=3h) name=b command=x env=A=3 nice=2",
    )
    assert (found.code, found.line) == (Advice.DEFAULTS_OVERRIDDEN, 1)
    assert found.message == "every job below these defaults sets @policy deadline and env A itself"


def test_what_a_default_lacks_on_the_host_is_said_once_and_there() -> None:
    jobs = [f"{JOB} name=n{number} command=/bin/true" for number in range(3)]
    defaults = "defaults: user=nouser env_file=/none"
    found = warnings(defaults, *jobs, host=FakeHost(paths=TRUE))
    assert [(each.code, each.line, defaults[each.start : each.end]) for each in found] == [
        (Advice.USER_UNKNOWN, 1, "user=nouser"),
        (Advice.ENV_FILE_MISSING, 1, "env_file=/none"),
    ]


def test_a_timeout_by_default_that_is_long_for_one_job_is_said_of_that_job() -> None:
    found = warnings(
        "defaults: timeout=2h",
        f"{JOB} name=daily command=/bin/true",
        "7 * * * * @win(after,20m) name=hourly command=/bin/true",
    )
    assert [(each.code, each.line) for each in found] == [(Advice.TIMEOUT_LONG, 3)]


def test_a_file_of_variables_may_set_the_search_path() -> None:
    host = FakeHost(paths={"/e": PathKind.FILE, "/usr/local/bin/x": PathKind.PROGRAM})
    line = f"{JOB} name=a command=x"
    assert warnings(line, host=host) == []
    assert warnings(f"{line} env_file=/e", host=host) == []
    assert warnings(f"{line} env_file=-/none environment=clean", host=host) == []
    (found,) = warnings(f"{line} environment=clean", host=host)
    assert (found.code, '"/usr/bin:/bin"' in found.message) == (Advice.COMMAND_MISSING, True)
