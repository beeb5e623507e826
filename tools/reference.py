"""Writes what is made from the commands' own parsers: a page in docs/ for each program, and the
manual pages and completion scripts in src/kron/share/; there too the manual page of krontab files.

Run it with `make reference` after a change to a command's help; a test fails if you forget.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kron.console.program import Program
from kron.krond.program import KROND
from kron.krontab.program import KRONTAB
from kron.kube.kronctl.program import KRONCTL
from kron.kube.operator.program import OPERATOR
from tools.commands import Command, commands
from tools.completion import script
from tools.file_format import file_page
from tools.manual import page, page_name

ROOT = Path(__file__).parent.parent
FILE_FORMAT = "docs/krontab-file.md"
PROGRAMS = (KRONTAB, KROND, OPERATOR, KRONCTL)
SHARE = ROOT / "src/kron/share"
"""All of it is generated. The package is installed with it, so that krontab can print its own."""


def files() -> dict[Path, str]:
    """Every generated file and what it must hold."""
    made = {ROOT / path: text for program in PROGRAMS for path, text in _files(program).items()}
    made[SHARE / "man/man5/krontab.5"] = file_page((ROOT / FILE_FORMAT).read_text("utf-8"))
    return made


def present() -> list[Path]:
    """The generated files that exist in SHARE."""
    return [path for path in sorted(SHARE.rglob("*")) if path.is_file()]


def _files(program: Program) -> dict[str, str]:
    name = program.name
    made = {
        f"docs/{name}.md": "\n".join(_markdown(program)) + "\n",
        f"src/kron/share/bash-completion/completions/{name}": script(program, "bash"),
        f"src/kron/share/zsh/site-functions/_{name}": script(program, "zsh"),
        f"src/kron/share/fish/vendor_completions.d/{name}.fish": script(program, "fish"),
    }
    for command in ("", *program.commands):
        made[f"src/kron/share/man/man1/{page_name(program, command)}.1"] = page(program, command)
    return made


def _markdown(program: Program) -> Iterator[str]:
    known = list(commands(program))
    yield f"# The {program.name} command"
    yield ""
    yield "<!-- made by `make reference` from the command's own help; do not edit -->"
    yield ""
    yield program.introduction.replace("\n", " ")
    yield ""
    yield "| command | what it does |"
    yield "|---|---|"
    for command in known:
        anchor = "-".join([program.name, *command.name.split()])
        yield f"| [`{command.name}`](#{anchor}) | {command.summary} |"
    yield ""
    yield "Exit codes:"
    yield ""
    yield "| code | meaning |"
    yield "|---|---|"
    for code, meaning in program.exit_codes.items():
        yield f"| {code} | {meaning} |"
    for command in known:
        yield from _section(program, command)


def _section(program: Program, command: Command) -> Iterator[str]:
    yield ""
    yield f"## {program.name} {command.name}"
    yield ""
    yield "```text"
    yield command.usage
    yield "```"
    for paragraph in command.description.split("\n\n"):
        yield ""
        yield paragraph
    for group in command.groups:
        yield ""
        yield f"| {group.title} | |"
        yield "|---|---|"
        for option in group.options:
            flags = ", ".join(option.flags) or option.value
            value = f" {option.value}" if option.flags and option.takes_value else ""
            name, meaning = f"{flags}{value}".replace("|", r"\|"), option.help.replace("|", r"\|")
            yield f"| `{name}` | {meaning} |"
    for example, meaning in command.examples:
        yield ""
        yield f"{meaning}:"
        yield ""
        yield "```sh"
        yield example
        yield "```"


if __name__ == "__main__":
    made = files()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in present():
        if path not in made:
            path.unlink()
