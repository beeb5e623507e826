"""The logs: every event by name, its records, and its lines in text and JSON, written and read.

`kron.logs.replay` checks a whole log and `kron.logs.ordering` its order. This package does not
import them.
"""

from kron.logs.decisions import decision_records, explain_records, explain_steps
from kron.logs.event import Component, Event, Level
from kron.logs.reader import read, read_line
from kron.logs.record import Record, record
from kron.logs.text import read_text, write_text
from kron.logs.writer import Format, Writer

__all__ = [
    "Component",
    "Event",
    "Format",
    "Level",
    "Record",
    "Writer",
    "decision_records",
    "explain_records",
    "explain_steps",
    "read",
    "read_line",
    "read_text",
    "record",
    "write_text",
]
