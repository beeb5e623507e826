"""Every field of a krontab line: the values that it takes, and those that it refuses and why."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron import Code, KronError, ParseError
from kron.jobs.fields import (
    FIELDS,
    LIMIT_FIELDS,
    REPEATABLE,
    REQUIRED,
    STRFTIME_TOKENS,
    plain_name,
)
from kron.jobs.hooks import HOOK_FIELDS, MailOn
from kron.jobs.quoting import unquoted
from kron.jobs.task import UNLIMITED, Destination, EnvFile, LimitedResource, Output
from tests.soak import examples

SECOND_NS = 10**9
START = datetime(2026, 3, 1, 2, 32, 20, tzinfo=UTC)


def file(path: str) -> Output:
    return Output(Destination.FILE, path)


VALID = [
    ("name", "db-backup", "db-backup"),
    ("name", "a", "a"),
    ("name", "0", "0"),
    ("name", "team/app-2/x", "team/app-2/x"),
    ("name", "-/-", "-/-"),
    ("name", "db_backup", "db_backup"),
    ("name", "_a/b.c-d_", "_a/b.c-d_"),
    ("name", "backup.sh", "backup.sh"),
    ("name", "a.", "a."),
    ("name", "a" * 200, "a" * 200),
    ("command", "/usr/bin/true", "/usr/bin/true"),
    ("command", " a  b ", " a  b "),
    ("command", "é", "é"),
    ("shell", "true", "/bin/sh"),
    ("shell", "/bin/bash", "/bin/bash"),
    ("user", "root", "root"),
    ("user", "www-data", "www-data"),
    ("user", "1000", "1000"),
    ("user", "_apt", "_apt"),
    ("user", "First.Last", "First.Last"),
    ("user", "machine$", "machine$"),
    ("group", "adm", "adm"),
    ("group", "0", "0"),
    ("cwd", "/", "/"),
    ("cwd", "/srv/my app", "/srv/my app"),
    ("umask", "0", 0),
    ("umask", "22", 0o22),
    ("umask", "022", 0o22),
    ("umask", "0777", 0o777),
    ("env", "LANG=C", ("LANG", "C")),
    ("env", "A=", ("A", "")),
    ("env", "_a1=x=y z", ("_a1", "x=y z")),
    ("env_file", "/etc/default/my app", EnvFile("/etc/default/my app")),
    ("env_file", "-/x", EnvFile("/x", may_lack=True)),
    ("environment", "inherit", True),
    ("environment", "clean", False),
    ("timeout", "2h", 7_200 * SECOND_NS),
    ("timeout", "1ns", 1),
    ("timeout", "1h30m", 5_400 * SECOND_NS),
    ("grace", "30s", 30 * SECOND_NS),
    ("grace", "0s", 0),
    ("grace", "0", 0),
    ("slots", "database", ("database",)),
    ("slots", "database,disk-2,a.b_c", ("database", "disk-2", "a.b_c")),
    ("stdout", "keep", Output(Destination.KEEP)),
    ("stdout", "inherit", Output(Destination.INHERIT)),
    ("stdout", "journal", Output(Destination.JOURNAL)),
    ("stdout", "discard", Output(Destination.DISCARD)),
    ("stdout", "syslog", Output(Destination.SYSLOG)),
    ("stdout", "file:/var/log/x.log", file("/var/log/x.log")),
    ("stdout", "file:/var/log/{name}-%Y%m%d.log", file("/var/log/{name}-%Y%m%d.log")),
    ("stdout", "file:/l/{period}/{period}/100%%", file("/l/{period}/{period}/100%%")),
    ("stdout", "file:/a:b}", file("/a:b}")),
    ("stderr", "syslog", Output(Destination.SYSLOG)),
    ("stderr", "file:/e", file("/e")),
    ("retries", "0", 0),
    ("retries", "100", 100),
    ("retry_delay", "0s", 0),
    ("retry_delay", "1m30s", 90 * 10**9),
    ("retry_within", "1h", 3_600 * 10**9),
    ("output_limit", "1K", 2**10),
    ("output_limit", "100000", 100_000),
    ("output_limit", "64M", 2**26),
    ("on_start", "/usr/bin/hook", "/usr/bin/hook"),
    ("on_success", "https://hc.example.org/a?create=1", "https://hc.example.org/a?create=1"),
    ("on_success", "https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
    ("on_failure", "http://127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
    ("on_failure", "http://localhost/", "http://localhost/"),
    ("on_missed", 'notify "a b"', 'notify "a b"'),
    ("mail", "root", ("root",)),
    ("mail", "ops@example.org,a+b@x, root", ("ops@example.org", "a+b@x", "root")),
    ("mail_on", "failure", MailOn.FAILURE),
    ("mail_on", "always", MailOn.ALWAYS),
    ("mail_from", "krond@example.org", "krond@example.org"),
    ("limit_nofile", "1024", 1024),
    ("limit_nofile", "0", 0),
    ("limit_nofile", "unlimited", UNLIMITED),
    ("limit_nproc", "64", 64),
    ("limit_nproc", "999999999999999999", 10**18 - 1),
    ("limit_as", "536870912", 2**29),
    ("limit_as", "512M", 2**29),
    ("limit_as", "1K", 1024),
    ("limit_as", "1G", 2**30),
    ("limit_as", "8388607T", (2**23 - 1) * 2**40),
    ("limit_as", "unlimited", UNLIMITED),
    ("limit_core", "0", 0),
    ("limit_core", "0T", 0),
    ("nice", "0", 0),
    ("nice", "-20", -20),
    ("nice", "19", 19),
    ("nice", "05", 5),
    ("memory_max", "1", 1),
    ("memory_max", "512M", 2**29),
    ("cpu_weight", "1", 1),
    ("cpu_weight", "10000", 10_000),
    ("pids_max", "4194304", 2**22),
    ("description", "", ""),
    ("description", "nightly dump", "nightly dump"),
]

NAME = "is not a name: a name has lower-case letters, digits, /, -, _ and . only"
DOTS = "is not a name: no part of a name begins with a dot, and it has no two dots in a row"
ACCOUNT = "is not the name or number of a user or group"
PATH = "is not an absolute path"
MASK = "is not an octal file mode"
VARIABLE = "is not NAME=value"
OUTPUT = "is not keep, inherit, discard, syslog, journal or file:<path>"
OUTPUT_LIMIT = "is not a number of bytes from 1K to 64M"
TOKEN = "is not a time token"
PLACEHOLDER = "is not {name} or {period}"
COUNT = "is not a number, nor unlimited"
RETRIES = "is not a number of retries from 0 to 100"
SIZE = "is not a number of bytes, nor unlimited"
NICE = "is not a niceness from -20 to 19"
LONG_URL = f"https://x/{'y' * 2000}"
SHELL = "is not true, nor the absolute path of a shell"

INVALID = [
    # field, value, what is marked, the message, the fix
    ("name", "DB", "DB", f'"DB" {NAME}', "write db"),
    ("name", "My Job!", "My Job!", NAME, "write my-job"),
    ("name", "Db_Backup.SH", "Db_Backup.SH", NAME, "write db_backup.sh"),
    ("name", "é", "é", NAME, "write it like db-backup"),
    ("name", "https://h/X", "https://h/X", f'"https://h/*" {NAME}', "write it like db-backup"),
    ("name", ".a", ".a", DOTS, "write a"),
    ("name", "..", "..", DOTS, "write it like db-backup"),
    ("name", "a/../b", "a/../b", DOTS, "write a/b"),
    ("name", "a/.b", "a/.b", DOTS, "write a/b"),
    ("name", "a..b", "a..b", DOTS, "write a.b"),
    ("name", "a" * 201, "a" * 201, "the name is longer than 200 characters", "shorten it"),
    ("name", "", "", NAME, "write it like db-backup"),
    ("name", "a\n", "a\n", '"a\\x0a" is not a name', "write a"),
    ("command", "", "", "the command is empty", "name a program, such as /usr/bin/true"),
    ("command", " \t", " \t", "the command is empty", "name a program"),
    ("shell", "yes", "yes", f'"yes" {SHELL}', "write shell=true for /bin/sh"),
    ("shell", "false", "false", SHELL, "leave it out for no shell"),
    ("shell", "True", "True", SHELL, ""),
    ("shell", "bash", "bash", SHELL, ""),
    ("user", "a b", "a b", f'"a b" {ACCOUNT}', ""),
    ("user", "-root", "-root", ACCOUNT, ""),
    ("user", "a:b", "a:b", ACCOUNT, ""),
    ("user", "$", "$", ACCOUNT, ""),
    ("user", "é", "é", ACCOUNT, ""),
    ("user", "root\n", "root\n", ACCOUNT, ""),
    ("group", "", "", ACCOUNT, ""),
    ("cwd", "srv", "srv", f'"srv" {PATH}', "begin it with /"),
    ("cwd", "~/x", "~/x", PATH, "begin it with /"),
    ("cwd", "", "", PATH, "begin it with /"),
    ("umask", "8", "8", f'"8" {MASK}', "write it like 022"),
    ("umask", "1777", "1777", MASK, ""),
    ("umask", "00777", "00777", MASK, ""),
    ("umask", "0o22", "0o22", MASK, ""),
    ("umask", "-22", "-22", MASK, ""),
    ("umask", "٢", "٢", MASK, ""),
    ("umask", "u=rwx", "u=rwx", MASK, ""),
    ("env", "LANG", "LANG", f'"LANG" {VARIABLE}', "write it like env=LANG=C"),
    ("env", "=x", "=x", VARIABLE, ""),
    ("env", "1A=x", "1A=x", VARIABLE, ""),
    ("env", "A B=x", "A B=x", VARIABLE, ""),
    ("env", "é=x", "é=x", VARIABLE, ""),
    ("env_file", "app.env", "app.env", f'"app.env" {PATH}', "begin it with /"),
    ("env_file", "-app.env", "-app.env", f'"app.env" {PATH}', "begin it with /"),
    ("env_file", "--/app.env", "--/app.env", PATH, ""),
    ("environment", "none", "none", '"none" is not inherit or clean', ""),
    ("timeout", "0", "0", "a timeout of 0 would stop every run", "leave it out"),
    ("timeout", "0h0m", "0h0m", "a timeout of 0 would stop every run", ""),
    ("timeout", "2", "2", 'the duration "2" ends without a unit', "2s for seconds"),
    ("timeout", "2d", "2d", 'unknown unit "d" in the duration "2d"', "write 2d as 48h"),
    ("timeout", "-2h", "-2h", "has a sign", "leave the sign out"),
    ("grace", "soon", "soon", '"soon" is not a duration', ""),
    ("grace", "3000000h", "3000000h", "is longer than 292 years", ""),
    ("retries", "101", "101", RETRIES, ""),
    ("retries", "-1", "-1", RETRIES, ""),
    ("retries", "many", "many", f'"many" {RETRIES}', ""),
    ("retry_delay", "soon", "soon", '"soon" is not a duration', ""),
    ("retry_within", "0s", "0s", "within 0 nothing can be tried again", "leave retries out"),
    ("slots", "Database", "Database", '"Database" is not the name of a slot', "database,disk"),
    ("slots", "a, b", " b", "is not the name of a slot", ""),
    ("slots", "a,,b", "", "is not the name of a slot", ""),
    ("slots", "a=1", "a=1", "is not the name of a slot", ""),
    ("slots", "b,a,b", "b", "the slot b is named twice", "keep one of them"),
    ("on_start", " ", " ", "the hook is empty", "an https URL"),
    *(
        ("on_success", url, url, "the URL is not encrypted", "write https")
        for url in ("http://example.org/x", "http://127.0.0.1.example.org/")
    ),
    *(
        ("on_failure", url, url, "this is not a URL that krond can call", "")
        for url in ("https://u:p@x/y", "https://x/y#z", "https:///y")
    ),
    *(
        ("on_failure", url, url, "this is not a URL that krond can call", "write https://host/path")
        for url in ("https:/x/y", "HTTPS//x/y", "http:x/y", "http/x", " https:/x/y")
    ),
    ("on_missed", "ftp://x", "ftp://x", 'a hook cannot be a URL of "ftp"', "write an https URL"),
    ("on_missed", LONG_URL, LONG_URL, "the URL is longer than 2000", ""),
    ("mail", "-f@x", "-f@x", '"-f@x" is not an address', "ops@example.org"),
    ("mail", "a@x,b@", "b@", '"b@" is not an address', ""),
    ("mail", "a@x\nBcc:b@y", "a@x\nBcc:b@y", "is not an address", ""),
    ("mail", "<a@x>", "<a@x>", "is not an address", ""),
    ("mail", "root,.ops@x", ".ops@x", '".ops@x" is not an address', ""),
    ("mail", "a..b@x", "a..b@x", "is not an address", ""),
    ("mail", "=?utf-8?q?=0D?=", "=?utf-8?q?=0D?=", "is not an address", ""),
    ("mail", "a@x..y", "a@x..y", "is not an address", ""),
    ("mail", "a" * 65, "a" * 65, "is not an address", ""),
    ("mail", ",", ",", "there is no address", ""),
    ("on_failure", " https://x/y", " https://x/y", "does not begin with a space", "remove it"),
    ("on_failure", "https://x:99999/y", "https://x:99999/y", "is not a URL", ""),
    ("mail_on", "never", "never", '"never" is not failure, output, always', ""),
    ("mail_from", "a,b", "a,b", "a mail is from one address", ""),
    ("output_limit", "1023", "1023", OUTPUT_LIMIT, "stdout=discard"),
    ("output_limit", "65M", "65M", OUTPUT_LIMIT, "stdout=file:<path>"),
    ("output_limit", "unlimited", "unlimited", OUTPUT_LIMIT, ""),
    ("stdout", "", "", OUTPUT, ""),
    ("stdout", "none", "none", f'"none" {OUTPUT}', ""),
    ("stdout", "Syslog", "Syslog", OUTPUT, ""),
    ("stdout", "file", "file", OUTPUT, ""),
    ("stdout", "/var/log/x", "/var/log/x", OUTPUT, "write file:/var/log/x"),
    ("stdout", "syslog:x", "syslog:x", OUTPUT, ""),
    ("stdout", "file:", "file:", 'the path "" is not absolute', "begin it with /"),
    ("stdout", "file:x.log", "file:x.log", 'the path "x.log" is not absolute', ""),
    ("stdout", "file:/x-%Q", "%Q", f'"%Q" {TOKEN}', "and %% for a percent sign"),
    ("stdout", "file:/x-%Y%", "%", f'"%" {TOKEN}', ""),
    ("stdout", "file:/x%%%é", "%é", TOKEN, ""),
    ("stdout", "file:/%c", "%c", TOKEN, ""),
    ("stdout", "file:/{job}", "{job}", f'"{{job}}" {PLACEHOLDER}', ""),
    ("stdout", "file:/%Y/{name", "{name", PLACEHOLDER, ""),
    ("stdout", "file:/{}", "{}", PLACEHOLDER, ""),
    ("stdout", "file:/{{name}}", "{", PLACEHOLDER, ""),
    ("stderr", "file:/{Name}", "{Name}", PLACEHOLDER, ""),
    ("limit_nofile", "many", "many", f'"many" {COUNT}', ""),
    ("limit_nofile", "-1", "-1", COUNT, ""),
    ("limit_nofile", "1.5", "1.5", COUNT, ""),
    ("limit_nofile", "²", "²", COUNT, ""),
    ("limit_nofile", "1K", "1K", COUNT, ""),
    ("limit_nproc", "1" * 19, "1" * 19, COUNT, ""),
    ("limit_nproc", "", "", COUNT, ""),
    ("limit_as", "512MB", "512MB", f'"512MB" {SIZE}', "write it like 536870912 or 512M"),
    ("limit_as", "512m", "512m", SIZE, ""),
    ("limit_as", "K", "K", SIZE, ""),
    ("limit_as", "8388608T", "8388608T", SIZE, ""),
    ("limit_as", "1 G", "1 G", SIZE, ""),
    ("limit_core", "Unlimited", "Unlimited", SIZE, ""),
    ("memory_max", "0", "0", '"0" is not a number of bytes, at least 1', "no limit"),
    ("memory_max", "unlimited", "unlimited", "is not a number of bytes", "write it like"),
    ("memory_max", "512MiB", "512MiB", "is not a number of bytes", "512M"),
    ("memory_max", "9999999999T", "9999999999T", "is not a number of bytes", ""),
    ("cpu_weight", "0", "0", '"0" is not a number from 1 to 10000', ""),
    ("cpu_weight", "10001", "10001", "is not a number from 1 to 10000", ""),
    ("cpu_weight", "50%", "50%", "is not a number from 1 to 10000", ""),
    ("pids_max", "0", "0", "is not a number from 1 to 4194304", ""),
    ("pids_max", "4194305", "4194305", "is not a number from 1 to 4194304", ""),
    ("nice", "20", "20", f'"20" {NICE}', ""),
    ("nice", "-21", "-21", NICE, ""),
    ("nice", "+5", "+5", NICE, ""),
    ("nice", "", "", NICE, ""),
    ("nice", "1e1", "1e1", NICE, ""),
    ("nice", "٥", "٥", NICE, ""),
]


@pytest.mark.parametrize(("key", "text", "value"), VALID)
def test_a_field_takes_the_value(key: str, text: str, value: object) -> None:
    assert FIELDS[key].read(text) == value


@pytest.mark.parametrize(("key", "text", "marked", "message", "fix"), INVALID)
def test_a_field_refuses_the_value_and_says_why(
    key: str, text: str, marked: str, message: str, fix: str
) -> None:
    with pytest.raises(ParseError) as caught:
        FIELDS[key].read(text)
    (problem,) = caught.value.problems
    assert text[problem.start : problem.end] == marked
    assert message in problem.message
    assert fix in problem.fix
    assert problem.code is (Code.DURATION if _is_duration(key, message) else Code.FIELD_VALUE)


def _is_duration(key: str, message: str) -> bool:
    is_one = key in ("timeout", "grace", "retry_delay", "retry_within")
    return is_one and "of 0" not in message and "within 0" not in message


def test_every_field_has_rows_in_both_tables() -> None:
    assert {key for key, *_ in VALID} == set(FIELDS)
    assert {key for key, *_ in INVALID} == set(FIELDS) - {"description"}


def test_every_field_reads_its_own_example() -> None:
    for field in FIELDS.values():
        example = field.example
        field.read(unquoted(example) if example.startswith('"') else example)
        assert field.meaning


def test_the_fields_that_are_required_repeatable_and_limits_are_fields() -> None:
    assert [FIELDS[key].key for key in (*REQUIRED, *REPEATABLE)] == ["name", "command", "env"]
    assert {key: FIELDS[key].key for key in LIMIT_FIELDS} == {key: key for key in LIMIT_FIELDS}
    assert list(LIMIT_FIELDS.values()) == list(LimitedResource)


@pytest.mark.parametrize("key", FIELDS)
def test_a_huge_value_is_quoted_short(key: str) -> None:
    try:
        FIELDS[key].read("%{é" * 20_000)
    except ParseError as error:
        (problem,) = error.problems
        assert len(problem.message) + len(problem.fix) < 500
    else:
        assert key in ("command", "description", *HOOK_FIELDS)


@examples(300)
@given(key=st.sampled_from(sorted(FIELDS)), text=st.text(st.characters(), max_size=30))
def test_any_text_is_a_value_or_a_kron_error(key: str, text: str) -> None:
    try:
        FIELDS[key].read(text)
    except KronError as error:
        str(error).encode()


# Output.path_at


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        pytest.param("/var/log/x.log", "a", "/var/log/x.log", id="nothing to fill in"),
        pytest.param("/l/%Y/%m-%d_%H%M%S", "a", "/l/2026/03-01_023220", id="time tokens"),
        pytest.param("/l/%F %T", "a", "/l/2026-03-01 02:32:20", id="whole dates and times"),
        pytest.param("/l/%G-W%V-%u %j", "a", "/l/2026-W09-7 060", id="weeks and days"),
        pytest.param("/l/100%%", "a", "/l/100%", id="a percent sign"),
        pytest.param("/l/100%%Y", "a", "/l/100%Y", id="a percent sign before a letter"),
        pytest.param("/l/{name}.log", "db-backup", "/l/db-backup.log", id="the name"),
        pytest.param("/l/{name}.log", "team/app/x", "/l/team-app-x.log", id="a name with slashes"),
        pytest.param("/l/{name}", "/", "/l/-", id="a name of a slash"),
        pytest.param("/l/{period}", "a", "/l/2026-03-01T00:00:00Z", id="the period"),
        pytest.param(
            "/{name}/{name}-{period}-%y", "a/b", "/a-b/a-b-2026-03-01T00:00:00Z-26", id="all"
        ),
        pytest.param("/lög/漢/{name}", "a", "/lög/漢/a", id="letters of the world"),
        pytest.param("/l/}x", "a", "/l/}x", id="a closing brace"),
    ],
)
def test_the_path_of_a_run_is_filled_in(path: str, name: str, expected: str) -> None:
    output = FIELDS["stdout"].read(f"file:{path}")
    assert output.path_at(START, name=name, period_id="2026-03-01T00:00:00Z") == expected
    assert output.path == path


@pytest.mark.parametrize("token", STRFTIME_TOKENS.replace("s", ""))
def test_every_time_token_is_filled_in(token: str) -> None:
    output = FIELDS["stdout"].read(f"file:/x-%{token}-y")
    filled = output.path_at(START, name="a", period_id="p")
    assert filled == f"/x-{START.strftime('%' + token)}-y"
    assert filled not in ("/x--y", f"/x-%{token}-y")


ON_ANOTHER_COAST = """
from datetime import UTC, datetime
from kron.jobs.fields import FIELDS, STRFTIME_TOKENS
output = FIELDS["stdout"].read("file:/" + "".join(f"%{token}," for token in STRFTIME_TOKENS))
print(output.path_at(datetime(2026, 3, 1, 2, 32, 20, tzinfo=UTC), name="a", period_id="p"))
"""


def test_the_path_of_a_run_does_not_depend_on_the_zone_or_language_of_the_host() -> None:
    shown = {
        subprocess.run(
            [sys.executable, "-c", ON_ANOTHER_COAST],
            env={**os.environ, "TZ": zone, "LC_ALL": locale},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for zone, locale in (("UTC", "C"), ("America/New_York", "fr_FR.UTF-8"))
    }
    assert len(shown) == 1


@examples(300)
@given(st.text(st.characters(), max_size=30))
def test_a_plain_name_is_a_name_or_nothing(text: str) -> None:
    plain = plain_name(text)
    assert not plain or FIELDS["name"].read(plain) == plain


@pytest.mark.parametrize("name", ["db_backup", "a.b", "_", "a./b"])
def test_no_name_leads_out_of_a_directory_or_hides_there(name: str) -> None:
    path = FIELDS["stdout"].read("file:/l/{name}").path_at(START, name=name, period_id="p")
    assert os.path.normpath(path) == path
    assert str(Path(path).parent) == "/l"
