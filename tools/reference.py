"""Writes what is made from the command's own parsers: docs/krontab.md, and everything in share/.

Run it with `make reference` after a change to a command's help; a test fails when it is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kron.krontab.completion import script
from kron.krontab.manual import page, page_name
from kron.krontab.program import EXIT_CODES, overview
from kron.krontab.reference import Command, commands

ROOT = Path(__file__).parent.parent


def files() -> dict[Path, str]:
    """Every generated file and what it must hold."""
    known = list(commands())
    made = {ROOT / "docs/krontab.md": "\n".join(_markdown(known)) + "\n"}
    for name in ("", *(command.name for command in known)):
        made[ROOT / f"share/man/man1/{page_name(name)}.1"] = page(name)
    made[ROOT / "share/bash-completion/completions/krontab"] = script("bash")
    made[ROOT / "share/zsh/site-functions/_krontab"] = script("zsh")
    made[ROOT / "share/fish/vendor_completions.d/krontab.fish"] = script("fish")
    return made


def _markdown(known: list[Command]) -> Iterator[str]:
    yield "# The krontab command"
    yield ""
    yield "<!-- made by `make reference` from the command's own help; do not edit -->"
    yield ""
    yield overview().split("\n\n")[1].replace("\n", " ")
    yield ""
    yield "| command | what it does |"
    yield "|---|---|"
    for command in known:
        yield f"| [`{command.name}`](#{_anchor(command)}) | {command.summary} |"
    yield ""
    yield "Exit codes:"
    yield ""
    yield "| code | meaning |"
    yield "|---|---|"
    for code, meaning in EXIT_CODES.items():
        yield f"| {code} | {meaning} |"
    for command in known:
        yield from _section(command)


def _section(command: Command) -> Iterator[str]:
    yield ""
    yield f"## krontab {command.name}"
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


def _anchor(command: Command) -> str:
    return "krontab-" + command.name.replace(" ", "-")


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    expected = set(files())
    for path in sorted((ROOT / "share").rglob("*")):
        if path.is_file() and path not in expected:
            path.unlink()
