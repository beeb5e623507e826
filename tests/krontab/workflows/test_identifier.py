"""The identifier: the slug of the repository and the path in it, from real git repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.fuzzy import scatter
from kron.krontab.workflows.repository import is_slug, origin_url, slug_of_url
from tests.krontab.command import Krontab, make_directory
from tests.krontab.workflows.clone import Clone
from tests.soak import examples

DAILY = "on:\n  schedule: daily\n"
WORKFLOW = ".github/workflows/report.yml"


def identifier(clone: Clone, path: str, *words: str) -> str:
    (file,) = clone.document(*words, path)["files"]
    assert file["schedules"][0]["cron"] == scatter("daily", file["identifier"])
    text: str = file["identifier"]
    return text


def trouble(clone: Clone, path: str, *words: str) -> str:
    ran = clone.compile("--format", "json", *words, path)
    assert ran.code == 1
    (finding,) = ran.json["findings"]
    assert (finding["code"], finding["line"]) == ("repository", None)
    message: str = finding["message"]
    return message


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/octo/tools.git",
        "https://github.com/octo/tools",
        "https://github.com/octo/tools/",
        "https://name:secret@github.com/octo/tools.git",
        "HTTPS://github.example.org:8443/octo/tools.git",
        "http://github.com//octo/tools",
        "ssh://git@github.com/octo/tools.git",
        "ssh://git@github.com:2222/octo/tools.git/",
        "git://github.com/octo/tools.git",
        "git+ssh://git@github.com/octo/tools",
        "git@github.com:octo/tools.git",
        "git@github.com:/octo/tools.git",
        "github.com:octo/tools",
        "org-123@github.com:octo/tools.git",
    ],
)
def test_the_slug_is_read_from_every_form_of_url(url: str, krontab: Krontab) -> None:
    assert slug_of_url(url) == "octo/tools"
    clone = Clone(krontab, url)
    clone.write(WORKFLOW, DAILY)
    assert identifier(clone, WORKFLOW) == f"octo/tools/{WORKFLOW}"


@pytest.mark.parametrize(
    "url",
    [
        "/srv/git/tools.git",
        "../tools.git",
        "file:///srv/octo/tools.git",
        "https://github.com/tools.git",
        "https://gitlab.example.org/group/sub/tools.git",
        "git@github.com:tools",
        "https://github.com/octo/..",
        "https://github.com/octo/to ols",
        "https://github.com/octo/tools?x=1",
        "octo/tools",
        "",
    ],
)
def test_a_url_without_owner_and_name_is_an_error(url: str, krontab: Krontab) -> None:
    assert slug_of_url(url) is None
    clone = Clone(krontab, url or "x")
    clone.write(WORKFLOW, DAILY)
    assert "does not end in OWNER/NAME" in trouble(clone, WORKFLOW)
    assert identifier(clone, WORKFLOW, "--repo", "octo/tools") == f"octo/tools/{WORKFLOW}"


def test_no_password_is_ever_shown(krontab: Krontab) -> None:
    clone = Clone(krontab, "https://name:secret@github.com/a/b/c.git")
    clone.write(WORKFLOW, DAILY)
    message = trouble(clone, WORKFLOW)
    assert "//***@github.com/a/b/c.git" in message
    assert "secret" not in clone.compile(WORKFLOW).err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("octo/tools", True, id="usual"),
        pytest.param("Octo-1/to_ols.x", True, id="all-characters"),
        pytest.param("octo", False, id="no-name"),
        pytest.param("octo/tools/x", False, id="three"),
        pytest.param("octo/", False, id="empty-name"),
        pytest.param("/tools", False, id="empty-owner"),
        pytest.param("octo/..", False, id="dots"),
        pytest.param("octo/tools\n", False, id="line-break"),
        pytest.param("öcto/tools", False, id="not-ascii"),
        pytest.param("", False, id="empty"),
    ],
)
def test_a_slug_is_owner_and_name(text: str, expected: bool, clone: Clone) -> None:
    assert is_slug(text) is expected
    clone.write(WORKFLOW, DAILY)
    ran = clone.compile("--repo", text, WORKFLOW)
    assert ran.code == (0 if expected else 2)
    assert expected or "is not OWNER/NAME, such as octo/tools" in ran.err


def test_without_a_remote_the_error_says_how_to_name_the_repository(clone: Clone) -> None:
    clone.git("remote", "remove", "origin")
    clone.git("remote", "add", "upstream", "https://github.com/octo/tools")
    clone.write(WORKFLOW, DAILY)
    ran = clone.compile(WORKFLOW)
    assert ran.code == 1
    assert f"{clone.root}/.git/config has no remote origin" in ran.err
    assert "fix: name it: --repo OWNER/NAME" in ran.err


def test_one_error_tells_of_a_repository_without_a_remote(clone: Clone) -> None:
    clone.git("remote", "remove", "origin")
    for name in "abc":
        clone.write(f"{name}.yml", DAILY)
    assert trouble(clone, ".").endswith("(also for 2 more files)")


def test_plain_cron_needs_no_repository(krontab: Krontab) -> None:
    krontab.write("w.yml", "on:\n  schedule:\n    - cron: '0 5 * * 1'\n")
    document = krontab("fuzzy", "compile", "--format", "json", "w.yml").json
    assert document["errors"] == 0
    assert document["files"][0]["identifier"] is None


def test_an_unknown_repository_hides_no_other_error(krontab: Krontab) -> None:
    krontab.write("w.yml", "on:\n  schedule:\n    - cron: daily\n    - cron: dayly\n")
    findings = krontab("fuzzy", "compile", "--format", "json", "w.yml").json["findings"]
    assert [each["code"] for each in findings] == ["repository", "UNKNOWN_KEYWORD"]


def test_outside_of_a_repository_paths_start_here(krontab: Krontab) -> None:
    krontab.write("sub/w.yml", DAILY)
    ran = krontab("fuzzy", "compile", "--repo", "octo/tools", "--format", "json", "sub/w.yml")
    assert ran.json["files"][0]["identifier"] == "octo/tools/sub/w.yml"
    assert krontab("fuzzy", "compile", "sub/w.yml").code == 1


def test_outside_of_a_repository_a_file_has_to_be_below_here(krontab: Krontab) -> None:
    other = krontab.home / "w.yml"
    other.write_text(DAILY)
    ran = krontab("fuzzy", "compile", "--repo", "octo/tools", str(other))
    assert ran.code == 1
    assert f"the file is in no repository, and not below {krontab.directory}" in ran.err


def test_the_path_is_that_in_the_repository_wherever_one_stands(clone: Clone) -> None:
    path = clone.write(WORKFLOW, DAILY)
    wanted = f"octo/tools/{WORKFLOW}"
    assert identifier(clone, WORKFLOW) == wanted
    assert identifier(clone, f"./{WORKFLOW}") == wanted
    assert identifier(clone, str(path)) == wanted
    assert identifier(clone, f".github/../{WORKFLOW}") == wanted
    assert identifier(clone, ".github/workflows") == wanted
    link = clone.krontab.home / "link"
    link.symlink_to(clone.root)
    assert identifier(clone, str(link / WORKFLOW)) == wanted


def test_a_worktree_has_the_remote_of_its_repository(clone: Clone) -> None:
    clone.git("commit", "--quiet", "--allow-empty", "--message", "x")
    tree = clone.krontab.home / "tree"
    clone.git("worktree", "add", "--quiet", str(tree))
    (tree / "w.yml").write_text(DAILY)
    assert (tree / ".git").is_file()
    assert identifier(clone, str(tree / "w.yml")) == "octo/tools/w.yml"


def test_a_submodule_has_a_remote_of_its_own(clone: Clone) -> None:
    inner = make_directory(clone.krontab.home / "inner")
    clone.git("init", "--quiet", directory=inner)
    clone.git("commit", "--quiet", "--allow-empty", "--message", "x", directory=inner)
    clone.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "vendored"
    )
    module = clone.root / "vendored"
    assert (module / ".git").is_file()
    clone.git("remote", "set-url", "origin", "git@github.com:other/inner.git", directory=module)
    (module / "w.yml").write_text(DAILY)
    assert identifier(clone, "vendored/w.yml") == "other/inner/w.yml"


def test_gits_own_variables_do_not_decide(clone: Clone) -> None:
    clone.write(WORKFLOW, DAILY)
    ran = clone.krontab(
        "fuzzy", "compile", "--format", "json", WORKFLOW, environment={"GIT_DIR": "/nowhere"}
    )
    assert ran.json["files"][0]["identifier"] == f"octo/tools/{WORKFLOW}"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(None, "config", id="no-config"),
        pytest.param("nonsense", "is neither a directory nor a link to one", id="odd-file"),
        pytest.param("gitdir: /nowhere", "/nowhere", id="gone"),
        pytest.param("gitdir: \0", ".git is not a text", id="not-a-path"),
    ],
)
def test_a_broken_git_directory_is_an_error(
    content: str | None, why: str, krontab: Krontab
) -> None:
    if content is None:
        make_directory(krontab.directory / ".git")
    else:
        krontab.write(".git", content)
    krontab.write("w.yml", DAILY)
    ran = krontab("fuzzy", "compile", "w.yml")
    assert ran.code == 1
    assert "the repository is not known: " in ran.err
    assert why in ran.err


def test_a_path_that_is_not_unicode_identifies_nothing(clone: Clone) -> None:
    path = os.fsdecode(os.fsencode(clone.root) + b"/caf\xe9.yml")
    Path(path).write_text(DAILY)
    ran = clone.compile(path)
    assert ran.code == 1
    assert "is not valid Unicode" in ran.err


@pytest.mark.parametrize(
    ("text", "url"),
    [
        pytest.param('[remote "origin"]\n\turl = a:b/c\n', "a:b/c", id="usual"),
        pytest.param('[REMOTE "origin"]\n\tURL=a:b/c\n', "a:b/c", id="case"),
        pytest.param('[remote "Origin"]\n\turl = a:b/c\n', None, id="case-of-the-name"),
        pytest.param('[remote "origin"] url = a:b/c\n', "a:b/c", id="one-line"),
        pytest.param('[remote "origin"]\nurl = a:b/c ; x\n', "a:b/c", id="comment"),
        pytest.param('[remote "origin"]\r\nurl = a:b/c\r\n', "a:b/c", id="crlf"),
        pytest.param('[remote "origin"]\nurl = "a;b" c \n', "a;b c", id="quotes"),
        pytest.param('[remote "origin"]\nurl = a\\\nb\n', "ab", id="continued"),
        pytest.param('[remote "origin"]\nurl\n', "", id="no-value"),
        pytest.param('[remote "origin"]\nurl = x\nurl = y\n', "x", id="the-first-of-two"),
        pytest.param('[remote "up"]\nurl = x\n[remote "origin"]\nurl = y\n', "y", id="two-remotes"),
        pytest.param('# [remote "origin"]\n; url = x\n', None, id="in-comments"),
        pytest.param('[branch "x"]\nremote = origin\n', None, id="another-section"),
        pytest.param("", None, id="empty"),
        pytest.param('\0\1[[["\\' * 1000, None, id="junk"),
    ],
)
def test_the_url_is_read_as_git_reads_it(text: str, url: str | None) -> None:
    assert origin_url(text) == url


@given(
    st.text(alphabet=st.sampled_from(list("ab/:@.#;\"\\ \t=[]'é")), min_size=1, max_size=12).filter(
        lambda url: "\0" not in url
    )
)
@examples(25)
def test_whatever_git_writes_we_read(tmp_path_factory: pytest.TempPathFactory, url: str) -> None:
    config = tmp_path_factory.mktemp("git") / "config"
    command = ["git", "config", "--file", str(config)]
    subprocess.run([*command, "remote.origin.url", url], check=True)
    read = subprocess.check_output([*command, "--get", "remote.origin.url"])
    assert read.decode() == f"{url}\n"
    assert origin_url(config.read_text()) == url
