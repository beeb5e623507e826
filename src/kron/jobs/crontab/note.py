"""Notes: the parts of a crontab that Kron handles differently, or does not support.

A note is a warning with a stable code, so that no part of a crontab is dropped silently.
docs/crontab.md lists them (a test compares).
"""

from __future__ import annotations

from enum import StrEnum

from kron.core.errors import Code, ParseError
from kron.core.tokens import Token
from kron.jobs.finding import Finding, Severity


class NoteCode(StrEnum):
    ANACRON = "cron-anacron"
    NEVER = "cron-no-day"
    MAIL = "cron-mail"
    DELAY = "cron-delay"
    SETTING = "cron-setting"
    LOGIN = "cron-login"
    ZONE = "cron-zone"
    QUIET = "cron-quiet"
    BACKSLASH = "cron-backslash"
    USER_COLUMN = "cron-user-column"
    USER_UNKNOWN = "cron-user-unknown"
    HOME = "cron-home"
    LAST_LINE = "cron-last-line"
    LEFT_OUT = "cron-left-out"
    TWICE = "cron-twice"
    INPUT = "cron-input"
    RUN_PARTS = "cron-run-parts"
    VARIABLE = "cron-variable"
    WINDOW = "cron-window"
    LONG_LINE = "cron-long-line"


class Notes:
    """A line of a crontab, and the notes on it."""

    def __init__(self, path: str, line: int, text: str) -> None:
        self._path = path
        self.line = line
        self.text = text
        self.found: list[Finding] = []

    def add(self, code: NoteCode, message: str, token: Token, fix: str = "") -> None:
        where = (self._path, self.line, token.start, token.end)
        self.found.append(Finding(Severity.WARNING, code, message, *where, fix, self.text))

    def error(self, code: Code, message: str, token: Token, fix: str) -> ParseError:
        """An error that covers `token`, for the caller to raise."""
        return ParseError(self.text, [token.problem(code, message, fix=fix)])
