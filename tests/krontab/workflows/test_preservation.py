"""Nothing but the schedule changes: a property over random files, and over both parsers."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kron.fuzzy import scatter
from kron.krontab.workflows.compilation import Compilation, compile_workflows
from tests.soak import examples

SLUG = "octo/tools"
BLANKS = st.text(alphabet=" \t", max_size=3)
SPACES = st.text(alphabet=" ", max_size=3)
NOISE = st.text(
    alphabet=st.characters(min_codepoint=0x20, exclude_categories=["Cs", "Cc", "Zl", "Zp"]),
    max_size=12,
).filter(lambda text: not text.lstrip().startswith("fuzzy:"))
COMMENTS = st.builds("#{}".format, NOISE)
LINES = st.lists(
    st.one_of(
        st.just(""),
        SPACES,
        st.builds("{}{}".format, SPACES, COMMENTS),
    ),
    max_size=3,
).map(lambda lines: "".join(f"{line}\n" for line in lines))
EXPRESSIONS = st.sampled_from(
    ["daily", "weekly on monday", "Daily  around 14:00", "every 6h", "FUZZY:DAILY * * *"]
)
QUOTES = st.sampled_from(["", "'", '"'])
TAILS = st.one_of(st.just(""), BLANKS, st.builds(" {}{}".format, BLANKS, COMMENTS))
PROPERTIES = st.sampled_from(["", "&a ", "!!str ", "!!str &b "])
BODIES = st.binary(max_size=40).filter(lambda body: b"---" not in body)


@st.composite
def pieces(draw: st.DrawFn) -> tuple[list[str], str]:
    """The texts around three scalars, and the scalars with what they compile to, by turns."""
    step = draw(st.integers(1, 4))
    before = f"{draw(LINES)}name: x{draw(TAILS)}\n{draw(LINES)}on:{draw(TAILS)}\n{draw(LINES)}"
    texts = [f"{before}{' ' * step}schedule:{draw(TAILS)}\n"]
    expressions = []
    for number in range(3):
        quote, expression = draw(QUOTES), draw(EXPRESSIONS)
        properties = draw(PROPERTIES).replace("&a", f"&a{number}").replace("&b", f"&b{number}")
        texts[-1] += f"{draw(LINES)}{' ' * step}- cron:{' ' * draw(st.integers(1, 3))}{properties}"
        expressions.append(f"{quote}{expression}{quote}")
        texts.append(f"{draw(TAILS)}\n")
    texts[-1] += f"{draw(LINES)}jobs: {{}}{draw(TAILS)}\n{draw(LINES)}"
    return texts, "\x00".join(expressions)


def expected(texts: list[str], scalars: list[str], identifier: str) -> str:
    result = texts[0]
    seen: dict[str, int] = {}
    for scalar, text in zip(scalars, texts[1:], strict=True):
        quote = scalar[0] if scalar[0] in "'\"" else '"'
        words = " ".join(scalar.strip("'\"").split())
        kind = "daily" if words == "FUZZY:DAILY * * *" else words
        seen[kind] = seen.get(kind, 0) + 1
        own = identifier + (f"#{seen[kind]}" if seen[kind] > 1 else "")
        tail, rest = text.split("\n", 1)
        blanks = tail[: len(tail) - len(tail.lstrip(" \t"))]
        remark = f"# fuzzy: {words}"
        commented = f"{blanks}{remark} {tail[len(blanks) :]}"
        tail = commented if tail.strip(" \t") else f" {remark}{tail}"
        result += f"{quote}{scatter(words, own)}{quote}{tail}\n{rest}"
    return result


def compiled(path: Path) -> Compilation:
    result = compile_workflows([str(path)], SLUG)
    assert not result.errors, result.errors
    return result


def check_preservation(
    directory: Path, drawn: tuple[list[str], str], line_break: str, body: bytes
) -> None:
    texts, joined = drawn
    scalars = joined.split("\x00")
    before = "".join(text + scalar for text, scalar in zip(texts, [*scalars, ""], strict=True))
    for name in ("w.yml", "w.md"):
        path = directory / name
        after = expected(texts, scalars, f"{SLUG}/{name}")
        old, new = (text.replace("\n", line_break).encode() for text in (before, after))
        if name == "w.md":
            old, new = (b"---\n" + text + b"---\n" + body for text in (old, new))
        path.write_bytes(old)
        (workflow,) = compiled(path).workflows
        assert workflow.replacement().before == old
        assert workflow.replacement().after == new
        path.write_bytes(new)
        assert not compiled(path).outdated


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("preservation")
    (root / ".git").mkdir()
    return root


@given(pieces(), st.sampled_from(["\n", "\r\n"]), BODIES)
@examples(100)
def test_outside_of_the_scalars_and_their_remarks_no_byte_changes(
    directory: Path, drawn: tuple[list[str], str], line_break: str, body: bytes
) -> None:
    check_preservation(directory, drawn, line_break, body)


@given(pieces(), st.sampled_from(["\n", "\r\n"]))
@examples(20)
def test_nor_do_they_with_the_parser_in_python(
    directory: Path, drawn: tuple[list[str], str], line_break: str
) -> None:
    texts, joined = drawn
    # It refuses tabs at the end of a line, which YAML allows.
    without_tabs = [text.replace("\t", " ") for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader")
        check_preservation(directory, (without_tabs, joined), line_break, b"")


@given(st.data())
@examples(100)
def test_a_compiled_file_stays_current_whatever_is_written_around_it(
    directory: Path, data: st.DataObject
) -> None:
    path = directory / "w.yml"
    path.write_text("on:\n  schedule: daily\n")
    (workflow,) = compiled(path).workflows
    lines = workflow.replacement().after.decode().splitlines()
    noisy = "".join(f"{data.draw(LINES)}{line}{data.draw(TAILS)}\n" for line in lines)
    path.write_bytes(noisy.encode())
    assert not compiled(path).outdated
