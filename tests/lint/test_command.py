"""Commands written for a shell that none will read, and arguments that only look like it."""

from __future__ import annotations

import pytest

from kron.jobs.document import read_document
from kron.lint import Advice, PathKind, advise
from tests.lint.linted import NOW, PATH, FakeHost, codes, marked, only, warnings


def line(command: str, more: str = "") -> str:
    escaped = command.replace("\\", "\\\\").replace('"', '\\"')
    return f'0 2 * * * name=a command="{escaped}"{more}'


@pytest.mark.parametrize(
    ("command", "word"),
    [
        pytest.param("tar c /etc | gzip", "|", id="pipe"),
        pytest.param("make && make install", "&&", id="and"),
        pytest.param("make || true", "||", id="or"),
        pytest.param("sleep 5 &", "&", id="background"),
        pytest.param("echo a ; echo b", ";", id="semicolon"),
        pytest.param("echo a; echo b", "a;", id="semicolon at the end of a word"),
        pytest.param("date > /tmp/date", ">", id="output"),
        pytest.param("date >>/tmp/date", ">>/tmp/date", id="output without a space"),
        pytest.param("date 2>&1", "2>&1", id="joined outputs"),
        pytest.param("date 2>/dev/null", "2>/dev/null", id="errors"),
        pytest.param("date &>/dev/null", "&>/dev/null", id="both outputs"),
        pytest.param("date>/dev/null", "date>/dev/null", id="output glued to the program"),
        pytest.param("wc < /etc/passwd", "<", id="input"),
        pytest.param("echo $HOME", "$HOME", id="variable"),
        pytest.param("echo ${HOME}/bin", "${HOME}/bin", id="variable in braces"),
        pytest.param("echo $(date)", "$(date)", id="substitution"),
        pytest.param("echo `date`", "`date`", id="backticks"),
        pytest.param("ls ~/bin", "~/bin", id="home"),
        pytest.param("ls ~", "~", id="home alone"),
        pytest.param("rm /tmp/*.log", "/tmp/*.log", id="pattern"),
        pytest.param("rm ./cache/*", "./cache/*", id="relative pattern"),
        pytest.param("awk '{print $1}' /etc/passwd", "'{print", id="single quotes"),
        pytest.param("echo 'hello'", "'hello'", id="single quotes around a word"),
        pytest.param("LANG=C date", "LANG=C", id="assignment"),
        pytest.param("cd /srv", "cd", id="builtin"),
        pytest.param("source /etc/profile", "source", id="source"),
        pytest.param('say "a b" | cat', "|", id="behind a quoted word"),
    ],
)
def test_shell_syntax_without_a_shell_is_warned_of(command: str, word: str) -> None:
    finding = only(line(command), Advice.COMMAND_SHELL)
    assert marked(finding) == word
    assert "shell=true" in finding.fix
    assert codes(line(command, " shell=true")) == []


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("/usr/bin/backup --all", id="plain"),
        pytest.param('/bin/sh -c "cd /srv && make | tee log; echo $?"', id="a shell's own script"),
        pytest.param('ssh host "df -h | mail -s disk root"', id="a remote shell's"),
        pytest.param("find /tmp -name *.tmp -delete", id="a pattern for find"),
        pytest.param("find /tmp -path /tmp/a/* -delete", id="a path pattern for find"),
        pytest.param("find /tmp -type f -exec rm {} ;", id="the end of -exec"),
        pytest.param("find /tmp -type f -exec rm {} +", id="the other end of -exec"),
        pytest.param("tar c --exclude=*.o /srv", id="a pattern in an option"),
        pytest.param("rsync --exclude /a/* /a /b", id="a pattern behind an option"),
        pytest.param("curl https://example.org/?a=1&b=2", id="an address with &"),
        pytest.param("curl -d a=b;c=d https://example.org/", id="a semicolon inside a word"),
        pytest.param("grep -E ^a|b$ /etc/passwd", id="a regular expression"),
        pytest.param("sed -i s/a$/b/ /etc/x", id="a dollar at the end"),
        pytest.param("psql -c vacuum;", id="a statement behind an option"),
        pytest.param("echo don't", id="an apostrophe"),
        pytest.param("echo 5% ~user x~ #1 !", id="other signs"),
        pytest.param("env LANG=C date", id="env does it without a shell"),
        pytest.param("git push origin HEAD~1", id="a tilde inside a word"),
        pytest.param("mail -s a<b root", id="a sign of comparison"),
    ],
)
def test_arguments_that_programs_take_are_left_alone(command: str) -> None:
    assert codes(line(command)) == []


def test_a_command_without_quotes_is_one_word_and_judged_as_such() -> None:
    assert codes("0 2 * * * name=a command=/opt/run-all.sh") == []
    assert codes("0 2 * * * name=a command=/opt/a&&/opt/b") == [Advice.COMMAND_SHELL]


def test_an_assignment_gets_the_field_that_it_should_be() -> None:
    finding = only(line("LANG=C date"), Advice.COMMAND_SHELL)
    assert finding.message == (
        '"LANG=C" is an assignment, but no shell reads this command: it is not a program'
    )
    assert finding.fix == (
        "write it as a field, env=LANG=C, or add shell=true to run the command with /bin/sh"
    )


def test_a_secret_in_an_assignment_is_not_repeated() -> None:
    finding = only(line("HOOK=https://h/secret ping"), Advice.COMMAND_SHELL)
    assert "env=HOOK=https://h/******, or add" in finding.fix


def test_an_escaped_word_is_still_found_in_the_line() -> None:
    finding = only(line('echo "$A" $"B"`'), Advice.COMMAND_SHELL)
    assert marked(finding) in finding.text
    assert finding.text[finding.start] == "$"


def test_a_hook_for_a_shell_is_warned_of_too() -> None:
    hook = "/bin/sh -c 'echo $KRON_JOB failed'"
    finding = only(line("/bin/true", f' on_failure="{hook}"'), Advice.COMMAND_SHELL)
    assert marked(finding) == "'echo"
    assert finding.message == (
        '"\'echo" is quoted as for a shell, but no shell reads this hook: it becomes an argument'
    )
    assert codes(line("/bin/true", f' shell=true on_failure="{hook}"')) == []
    assert codes(line("/bin/true", " on_failure=https://example.org/?a=1&&b=$c")) == []


def test_a_hook_of_the_defaults_is_marked_there_once() -> None:
    jobs = "0 2 * * * name=a command=/bin/true\n0 3 * * * name=b command=/bin/true\n"
    read = read_document(f'defaults: on_failure="page | logger"\n{jobs}'.encode(), PATH)
    (finding,) = advise([read], now=NOW, host=None)
    assert (finding.code, finding.line, marked(finding)) == (Advice.COMMAND_SHELL, 1, "|")


def test_a_word_of_a_shell_is_not_looked_for_as_the_program_of_a_hook() -> None:
    (finding,) = warnings(
        line("/bin/true", ' on_failure="cd /srv"'), host=FakeHost({"/bin/true": PathKind.PROGRAM})
    )
    assert finding.code is Advice.COMMAND_SHELL
