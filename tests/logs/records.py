"""Records for tests: random ones with any value, and the log of a few jobs."""

from __future__ import annotations

import io

from hypothesis import strategies as st

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text
from kron.logs import Component, Event, Format, Level, Record, Writer, decision_records
from kron.logs.record import joined
from kron.logs.timestamp import FIRST_NS, LAST_NS

NOMINAL = "2026-03-01T00:00:00Z"
BACKUP = "0 0 * * * @win(after,3h) @seed(stable,salt=backup)"

# Everything, surrogates too, and more often what a format might trip over.
characters = st.one_of(
    st.characters(),
    st.sampled_from(
        " \"\\=\n\r\t\x00\x1b\x7f\x85\u2028\u2029\u202e\ufeff\ud83d\ude00\udc80,{}[]xuUn'é漢😀"
    ),
)
values = st.one_of(
    st.text(characters, max_size=30),
    st.sampled_from(
        ["", " ", "2026-03-01T00:00:00Z", "a b", '"', "\\", "\\n", "x=y", "level=INFO"]
    ),
).map(joined)
keys = st.one_of(
    st.sampled_from(sorted({field for event in Event for field in event.fields})),
    st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_.-]{0,12}\Z"),
).filter(lambda key: key not in ("timestamp", "level", "component", "event"))
events = st.one_of(st.sampled_from(list(Event)), values.filter(lambda name: name != ""))


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Any record that a line can hold, of this version or of a later one."""
    fields = draw(st.dictionaries(keys, values, max_size=8))
    return Record(
        draw(st.integers(FIRST_NS, LAST_NS)),
        draw(st.sampled_from(list(Level))),
        draw(st.sampled_from(list(Component))),
        draw(events),
        tuple(fields.items()),
    )


def decided(
    text: str,
    *,
    nominal: str = NOMINAL,
    identity: str = "prod/db-backup",
    namespace: str = "prod",
    name: str = "db-backup",
    level: Level = Level.INFO,
) -> list[Record]:
    """The records of one decision."""
    decision = decide_at(kron.parse_schedule(text), identity, from_text(nominal))
    made = decision_records(
        decision, namespace=namespace, name=name, time_ns=0, schedule_text=text, level=level
    )
    return list(made)


def with_field(record: Record, key: str, value: str | None) -> Record:
    """The record with another value for a field; None takes the field out."""
    fields = [(k, value if k == key else v) for k, v in record.fields]
    assert any(k == key for k, _ in fields), f"{record.event} has no {key}"
    return record.replace(fields=tuple((k, v) for k, v in fields if v is not None))


def log(records: list[Record], form: Format = Format.TEXT) -> bytes:
    """The records as a file holds them."""
    stream = io.BytesIO()
    writer = Writer(stream, form, Level.DEBUG)
    for record in records:
        writer.write(record)
    return stream.getvalue()
