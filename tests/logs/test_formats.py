"""Text and JSON: each reader is the exact inverse of its writer, and both say the same."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kron
from kron.logs import Component, Event, Level, Record, read_line, read_text, record, write_text
from kron.logs.json_lines import read_json, write_json
from kron.logs.timestamp import FIRST_NS, LAST_NS, read_timestamp, timestamp_text
from tests.logs.records import records, values
from tests.soak import examples

PREFIX = "2026-03-01T00:00:00Z level=INFO component=seed event=x"
JSON_PREFIX = '{"timestamp":"2026-03-01T00:00:00Z","level":"INFO","component":"seed","event":"x"'


def made(value: str) -> Record:
    return Record(0, Level.INFO, Component.SEED, "x", (("a", value),))


def written(value: str) -> str:
    return write_text(made(value)).split(" event=x a=")[1]


@examples(250)
@given(record=records())
def test_reading_is_the_inverse_of_writing(record: Record) -> None:
    for line, read in ((write_text(record), read_text), (write_json(record), read_json)):
        assert read(line) == record
        assert read_line(line) == record


@examples(100)
@given(record=records())
def test_text_becomes_json_and_json_text(record: Record) -> None:
    text = write_text(record)
    assert write_text(read_json(write_json(read_text(text)))) == text


@examples(120)
@given(record=records())
def test_a_line_is_one_line_that_no_terminal_obeys(record: Record) -> None:
    for line in (write_text(record), write_json(record)):
        assert len(line.splitlines()) == 1
        assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", line)
        line.encode()


@examples(80)
@given(record=records(), data=st.data())
def test_the_order_of_fields_is_free(record: Record, data: st.DataObject) -> None:
    timestamp, *fields = re.findall(r'(?:[^ "]|"(?:[^"\\]|\\.)*")+', write_text(record))
    shuffled = read_text(" ".join([timestamp, *data.draw(st.permutations(fields))]))
    assert sorted(shuffled.fields) == sorted(record.fields)
    assert shuffled.replace(fields=()) == record.replace(fields=())


@examples(200)
@given(value=values)
def test_json_is_json_with_the_same_keys_and_values(value: str) -> None:
    held = json.loads(write_json(made(value)))
    assert list(held) == ["timestamp", "level", "component", "event", "a"]
    assert held["a"] == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("prod/db-backup:x,y;z()@", "prod/db-backup:x,y;z()@", id="punctuation"),
        pytest.param("é漢😀", "é漢😀", id="letters-and-emoji"),
        pytest.param("", '""', id="empty"),
        pytest.param("a b", '"a b"', id="space"),
        pytest.param('say "hi"', r'"say \"hi\""', id="quote"),
        pytest.param("C:\\x", r'"C:\\x"', id="backslash"),
        pytest.param("shape=2.5", '"shape=2.5"', id="equals"),
        pytest.param("a\nb\tc\rd", r'"a\nb\tc\rd"', id="short-escapes"),
        pytest.param("\x1b[2J\x00\x7f", r'"\x1b[2J\x00\x7f"', id="control"),
        pytest.param("\x85\x9b", r'"\u0085\u009b"', id="control-beyond-ascii"),
        pytest.param("\u2028\u2029", r'"\u2028\u2029"', id="line-separators"),
        pytest.param("\u202egpj", r'"\u202egpj"', id="right-to-left"),
        pytest.param("\udc80", r'"\udc80"', id="half-a-character"),
        pytest.param("\ufeff", r'"\ufeff"', id="byte-order-mark"),
    ],
)
def test_values_are_quoted_and_escaped_as_documented(value: str, text: str) -> None:
    assert written(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("", "", id="empty-without-quotes"),
        pytest.param("x=y", "x=y", id="bare-equals"),
        pytest.param(r'"\U0001f600"', "😀", id="eight-digits"),
        pytest.param(r'"\ud83d\ude00"', "😀", id="two-halves"),
        pytest.param(r'"\X1B"'.lower(), "\x1b", id="hex"),
        pytest.param(r'"\u00E9"', "é", id="capital-hex"),
        pytest.param('"é b"', "é b", id="quoted-without-need"),
    ],
)
def test_what_others_may_write_is_read(text: str, value: str) -> None:
    assert read_text(f"{PREFIX} a={text}").get("a") == value
    assert read_text(f"{PREFIX} a={text} b=1").get("a") == value


@examples(200)
@given(time_ns=st.integers(FIRST_NS, LAST_NS))
@example(FIRST_NS)
@example(LAST_NS)
@example(-1)
def test_timestamps_read_back(time_ns: int) -> None:
    text = timestamp_text(time_ns)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", text)
    assert read_timestamp(text) == time_ns


@pytest.mark.parametrize(
    ("text", "fraction_ns"),
    [
        pytest.param("1970-01-01T00:00:00Z", 0, id="none"),
        pytest.param("1970-01-01T00:00:00.5Z", 500_000_000, id="one-digit"),
        pytest.param("1970-01-01T00:00:00.000001Z", 1000, id="microseconds"),
        pytest.param("1970-01-01T00:00:00.123456789Z", 123_456_789, id="nine-digits"),
    ],
)
def test_a_fraction_of_any_length_is_read(text: str, fraction_ns: int) -> None:
    assert read_timestamp(text) == fraction_ns


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-03-01T24:00:00Z",
        "2026-03-01T00:00:60Z",
        "2026-03-01T00:00:00",
        "2026-03-01T00:00:00z",
        "2026-03-01 00:00:00Z",
        "2026-03-01T00:00:00+00:00",
        "2026-03-01T00:00:00.1234567890Z",
        "2026-03-01T00:00:00.Z",
        "٢٠٢٦-03-01T00:00:00Z",
        "2026-W09-7T00:00:00Z",
        "",
    ],
)
def test_nothing_else_is_a_timestamp(text: str) -> None:
    with pytest.raises(kron.KronError, match="is not a timestamp"):
        read_timestamp(text)


def refused(line: str) -> kron.Problem:
    found = read_line(line)
    assert isinstance(found, kron.Problem)
    assert 0 <= found.start <= found.end <= len(line) + 1
    str(found).encode()
    assert str(found).isprintable()
    return found


@pytest.mark.parametrize(
    ("line", "marked", "says"),
    [
        pytest.param("hello", "hello", "does not begin with a timestamp", id="junk"),
        pytest.param("\x00\x1b\ud800", None, r"\x00\x1b\ud800", id="binary-is-shown-harmlessly"),
        pytest.param(f"<30>{PREFIX}", "<30>", "begins only at column 5", id="syslog-priority"),
        pytest.param(
            f"Mar 01 00:00:00 host krond[7]: {PREFIX}",
            "Mar 01 00:00:00 host krond[7]: ",
            "journalctl -o cat",
            id="journald",
        ),
        pytest.param(
            f"2026-03-01T00:00:00.5Z stdout F {PREFIX}",
            "2026-03-01T00:00:00.5Z stdout F ",
            "begins only at column 33",
            id="container-runtime",
        ),
        pytest.param(f"{PREFIX} a", " a", "is not a field", id="no-value"),
        pytest.param(f"{PREFIX} =1", " =1", "is not a field", id="no-key"),
        pytest.param(f"{PREFIX} 1a=1", " 1a=1", "is not a field", id="bad-key"),
        pytest.param(f"{PREFIX}  a=1", "  a=1", "is not a field", id="two-spaces"),
        pytest.param(f"{PREFIX} ", " ", "is not a field", id="space-at-the-end"),
        pytest.param(f"{PREFIX} a=b c d=e", " c d=e", "is not a field", id="unquoted-space"),
        pytest.param(f'{PREFIX} a="b', ' a="b', "is not closed", id="open-quote"),
        pytest.param(f'{PREFIX} a="b"c', ' a="b"c', "not followed by a space", id="glued"),
        pytest.param(f'{PREFIX} a=b"c', ' a=b"c', "but is not quoted", id="quote-inside"),
        pytest.param(f"{PREFIX} a=b\\c", " a=b\\c", "but is not quoted", id="bare-backslash"),
        pytest.param(f'{PREFIX} a="\x1b"', "\x1b", "that is not escaped", id="bare-control"),
        pytest.param(f"{PREFIX} a=\tb", "\t", "that is not escaped", id="bare-tab"),
        pytest.param(f'{PREFIX} a="\\q"', 'a="\\q"', '"\\q" is not an escape', id="unknown-escape"),
        pytest.param(f'{PREFIX} a="\\x9b"', 'a="\\x9b"', "is not an escape", id="x-beyond-ascii"),
        pytest.param(f'{PREFIX} a="\\u12"', 'a="\\u12"', "is not an escape", id="too-few-digits"),
        pytest.param(f'{PREFIX} a="\\U00110000"', None, "is not an escape", id="beyond-unicode"),
        pytest.param(f"{PREFIX} a=1 a=1", "a=1", '"a" is given twice', id="field-twice"),
        pytest.param(f"{PREFIX} level=INFO", "level=INFO", "given twice", id="level-twice"),
        pytest.param(f"{PREFIX} timestamp=1", "timestamp=1", "given twice", id="timestamp-twice"),
        pytest.param(
            PREFIX.replace("INFO", "INFOS"), "level=INFOS", 'did you mean "INFO"?', id="level"
        ),
        pytest.param(
            PREFIX.replace("seed", "seeds"),
            "component=seeds",
            'did you mean "seed"?',
            id="component",
        ),
        pytest.param(PREFIX.replace(" level=INFO", ""), None, "has no level", id="no-level"),
        pytest.param(PREFIX.replace(" event=x", ""), None, "has no event", id="no-event"),
        pytest.param(PREFIX.replace("03-01", "02-30"), None, "not a timestamp", id="no-such-day"),
        pytest.param("{", None, "not JSON", id="json-cut-off"),
        pytest.param(f"{JSON_PREFIX}}}x", "x", "not JSON: Extra data", id="json-and-more"),
        pytest.param("{" * 100_000, None, "not JSON", id="json-nest"),
        pytest.param(
            '{"a":' + "[" * 100_000, None, "not an object with text values", id="json-deep-nest"
        ),
        pytest.param(
            '{"a":' + "9" * 9000 + "}", None, "not an object with text values", id="json-number"
        ),
        pytest.param(f'{JSON_PREFIX},"a":1}}', None, '"a" is not text', id="json-value-not-text"),
        pytest.param(f'{JSON_PREFIX},"a":{{}}}}', None, '"a" is not text', id="json-object-inside"),
        pytest.param(f'{JSON_PREFIX},"a":NaN}}', None, '"a" is not text', id="json-nan"),
        pytest.param(f'{JSON_PREFIX},"a":"1","a":"1"}}', None, "given twice", id="json-key-twice"),
        pytest.param(f'{JSON_PREFIX},"a b":"1"}}', None, '"a b" cannot be', id="json-key"),
        pytest.param('{"level":"INFO"}', None, 'no "timestamp"', id="json-no-timestamp"),
        pytest.param('{"MESSAGE":"x"}', None, "journalctl -o cat", id="json-of-journald"),
        pytest.param('{"log":"x\\n"}', None, "what wraps the line", id="json-of-a-container"),
    ],
)
def test_a_line_that_does_not_read_says_where_and_why(
    line: str, marked: str | None, says: str
) -> None:
    found = refused(line)
    assert says in str(found)
    if marked is not None:
        assert line[found.start : found.end] == marked


def test_json_that_is_no_object_is_refused() -> None:
    for line in ("[]", '"x"', "1", '[["timestamp","x"]]'):
        with pytest.raises(kron.ParseError, match="not an object"):
            read_json(line)


@examples(300)
@given(line=st.one_of(st.text(st.characters()), values.map(lambda value: f"{PREFIX} a={value}")))
def test_any_line_is_a_record_or_a_problem(line: str) -> None:
    found = read_line(line)
    if isinstance(found, Record):
        assert read_text(write_text(found)) == found
    else:
        refused(line)


def test_an_event_of_a_later_version_is_read() -> None:
    found = read_text(f"{PREFIX} a=1")
    assert found.event == "x"
    assert not isinstance(found.event, Event)


def test_an_event_of_this_version_is_the_member() -> None:
    line = write_text(record(Event.SUSPENDED, 0, namespace="a", name="b", suspend=True))
    assert read_text(line).event is Event.SUSPENDED
    assert "suspend=true" in line
