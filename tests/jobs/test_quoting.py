"""Quoting: double quotes, two escapes, no shell; what is written reads back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kron import Code, ParseError
from kron.core.tokens import as_string
from kron.jobs.quoting import join_words, quoted_value, split_words, unquoted
from tests.soak import examples

anything = st.text(st.one_of(st.characters(), st.sampled_from(' \t"\\')), max_size=30)


def refused(text: str) -> list[tuple[Code, str]]:
    """The problems of a command that does not split: each code and the characters it marks."""
    with pytest.raises(ParseError) as caught:
        split_words(text)
    assert caught.value.text == text
    return [(problem.code, text[problem.start : problem.end]) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("string", "value"),
    [
        pytest.param('""', "", id="nothing"),
        pytest.param('"a b"', "a b", id="a space"),
        pytest.param(r'"say \"hi\""', 'say "hi"', id="quotes"),
        pytest.param(r'"C:\\x"', r"C:\x", id="a backslash"),
        pytest.param(r'"\\\""', '\\"', id="a backslash and a quote"),
        pytest.param(r'"\\\\"', r"\\", id="two backslashes"),
        pytest.param('"it\'s $HOME *"', "it's $HOME *", id="what a shell would obey"),
    ],
)
def test_a_string_says_what_stands_between_its_quotes(string: str, value: str) -> None:
    assert unquoted(string) == value
    assert as_string(value) == string


@pytest.mark.parametrize(
    ("string", "escape"),
    [
        pytest.param(r'"a\nb"', r"\n", id="a newline"),
        pytest.param(r'"\\\t"', r"\t", id="behind an escaped backslash"),
        pytest.param(r'"\x41"', r"\x", id="a code"),
        pytest.param(r'"\ "', "\\ ", id="a space"),
        pytest.param('"\\\'"', "\\'", id="a single quote"),
        pytest.param(r'"\$HOME \é"', r"\$", id="the first of two"),
    ],
)
def test_an_escape_that_does_not_exist_is_marked(string: str, escape: str) -> None:
    with pytest.raises(ParseError) as caught:
        unquoted(string)
    (problem,) = caught.value.problems
    assert string[problem.start : problem.end] == escape
    assert problem.code is Code.FIELD_FORM
    assert f'"{escape}" is no escape' in problem.message
    assert problem.fix == r"write \\ for a backslash"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param("abc", "abc", id="plain"),
        pytest.param("LANG=C", "LANG=C", id="an equals sign"),
        pytest.param("$HOME/*'x'#@", "$HOME/*'x'#@", id="what a shell would obey"),
        pytest.param("", '""', id="empty"),
        pytest.param("a b", '"a b"', id="a space"),
        pytest.param("a\tb", '"a\tb"', id="a tab"),
        pytest.param('a"b', r'"a\"b"', id="a quote"),
        pytest.param("a\\b", r'"a\\b"', id="a backslash"),
    ],
)
def test_a_value_is_quoted_where_it_has_to_be(value: str, written: str) -> None:
    assert quoted_value(value) == written


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", (), id="nothing"),
        pytest.param(" \t ", (), id="spaces"),
        pytest.param("a", ("a",), id="one"),
        pytest.param(" a \t b  c ", ("a", "b", "c"), id="several"),
        pytest.param('a "b c" d', ("a", "b c", "d"), id="quoted"),
        pytest.param('a"b c"d', ("ab cd",), id="quoted in part"),
        pytest.param('--x="b c"', ("--x=b c",), id="an option"),
        pytest.param('""', ("",), id="empty"),
        pytest.param('a "" b', ("a", "", "b"), id="empty in the middle"),
        pytest.param('"a""b"', ("ab",), id="two strings that touch"),
        pytest.param(r'"say \"hi\" \\"', ('say "hi" \\',), id="escapes"),
        pytest.param(r"a\b \ c", (r"a\b", "\\", "c"), id="a bare backslash is itself"),
        pytest.param("it's 'a b'", ("it's", "'a", "b'"), id="single quotes are characters"),
        pytest.param("echo $HOME *.c; a|b >c", ("echo", "$HOME", "*.c;", "a|b", ">c"), id="shell"),
        pytest.param("a\u00a0b\fc", ("a\u00a0b\fc",), id="other spaces do not separate"),
    ],
)
def test_a_command_splits_into_words(text: str, words: tuple[str, ...]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        pytest.param('a "b c', [(Code.FIELD_VALUE, '"b c')], id="open"),
        pytest.param('a b"', [(Code.FIELD_VALUE, '"')], id="open at the end"),
        pytest.param('"a" x"b\\"', [(Code.FIELD_VALUE, '"b\\"')], id="closed by an escape only"),
        pytest.param(r'a "b\nc" d', [(Code.FIELD_FORM, r"\n")], id="no such escape"),
        pytest.param(r'a x"\\b\q"', [(Code.FIELD_FORM, r"\q")], id="behind another"),
    ],
)
def test_a_command_that_does_not_split_is_marked(text: str, marked: list[tuple[Code, str]]) -> None:
    assert refused(text) == marked


@examples(300)
@given(value=anything)
@example('\\"')
@example("\\\n")
def test_every_value_reads_back_from_its_string(value: str) -> None:
    assert unquoted(as_string(value)) == value
    written = quoted_value(value)
    assert (unquoted(written) if written.startswith('"') else written) == value


@examples(300)
@given(words=st.lists(anything, max_size=5).map(tuple))
@example(("",))
@example(("", " ", '"', "\\", '\\"'))
def test_joined_words_split_into_the_same_words(words: tuple[str, ...]) -> None:
    assert split_words(join_words(words)) == words


@examples(300)
@given(text=anything)
def test_any_text_splits_or_is_a_parse_error_placed_within_it(text: str) -> None:
    try:
        words = split_words(text)
    except ParseError as error:
        (problem,) = error.problems
        assert 0 <= problem.start < problem.end <= len(text)
    else:
        assert split_words(join_words(words)) == words
