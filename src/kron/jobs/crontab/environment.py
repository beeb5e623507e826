"""The settings of a crontab, as far as it has been read: the surroundings of the jobs that follow.

cron gives a job SHELL, PATH, HOME and LOGNAME, and the settings of the crontab; nothing of its own
environment. USER is cronie's; Debian's cron leaves it out, and no job minds having it.
"""

from __future__ import annotations

from collections.abc import Callable

from kron.core.errors import Code, ParseError, quoted
from kron.core.frozen import Frozen
from kron.core.tokens import Token
from kron.core.zone import load_zone
from kron.jobs.crontab.line import Setting
from kron.jobs.crontab.note import NoteCode, Notes
from kron.jobs.crontab.zone import plain_zone
from kron.jobs.task import DEFAULT_SHELL

DEFAULT_PATH = "/usr/bin:/bin"
LOGIN = ("LOGNAME", "USER")
"""What a crontab may not set."""

MOST_VARIABLES = 1_000_000
"""How many variables all jobs of a file may have between them. Where settings change before each
job, their number grows with the square of the file."""

_NO_HOME = "/nonexistent"
"""What Debian calls the home of users that have none. cron runs their jobs elsewhere."""

_NO_MAIL = (NoteCode.MAIL, "krond sends no mail", "stdout= and stderr= say where output goes")
_OF_CRON: dict[str, tuple[NoteCode, str, str]] = {
    "MAILTO": _NO_MAIL,
    "MAILFROM": _NO_MAIL,
    "CONTENT_TYPE": _NO_MAIL,
    "CONTENT_TRANSFER_ENCODING": _NO_MAIL,
    "RANDOM_DELAY": (
        NoteCode.DELAY,
        "the random delay of cronie is not read",
        "in a krontab file, @win(after,45m) is a delay of up to 45 minutes",
    ),
    "CRON_WITHIN": (
        NoteCode.DELAY,
        "the limit that NetBSD sets for late jobs is not read",
        "in a krontab file, @policy(deadline=10m) is one of 10 minutes",
    ),
    "START_HOURS_RANGE": (
        NoteCode.SETTING,
        "the range of hours of anacron is not read",
        "in a krontab file, @only(hours=6-8) is one",
    ),
    "MLS_LEVEL": (NoteCode.SETTING, "the SELinux level of cronie is not read", ""),
    "CRON_TZ": (
        NoteCode.ZONE,
        "from here on, times are in this zone, as cronie has it; Debian's cron does not read it",
        "",
    ),
}
OF_CRON = tuple(_OF_CRON)
"""Settings that are meant for cron itself. Its jobs see them all the same."""

HomeOf = Callable[[str], str | None]
"""From a user's name to the home directory, or None if there is no such user."""


class Surroundings(Frozen):
    """Where a job runs and what is in its environment."""

    directory: str
    variables: tuple[tuple[str, str], ...]


class Environment:
    """What the settings so far say. `user` is whose crontab it is, or '' if the lines say it."""

    def __init__(
        self, user: str, zone: str, home_of: HomeOf, *, users_must_exist: bool = False
    ) -> None:
        self.zone = plain_zone(load_zone(zone).key)
        self._user = user
        self._home_of = home_of
        self._users_must_exist = users_must_exist
        self._settings: dict[str, str] = {}
        # Equal surroundings are one value, so that a long crontab stays small in memory.
        self._surroundings: dict[str, Surroundings] = {}
        self._variables = 0
        self._told: set[str] = set()

    @property
    def shell(self) -> str:
        """What runs the commands."""
        return self._settings.get("SHELL", DEFAULT_SHELL)

    def set(self, text: str, setting: Setting, notes: Notes) -> str:
        """Take a setting over from the line `text`.

        Returns the code of the note on it if it changes nothing about the jobs.
        """
        name, value = setting.name.text, setting.value.text
        if name in LOGIN:
            if value == self._user:
                return ""
            message = f"{name} is always the name of the user that the job runs as"
            notes.add(NoteCode.LOGIN, message, setting.name)
            return NoteCode.LOGIN
        if name == "SHELL" and not value.startswith("/"):
            message = f"the shell {quoted(value)} is not an absolute path"
            fix = "write it like SHELL=/bin/bash"
            raise ParseError(text, [setting.value.problem(Code.FIELD_VALUE, message, fix=fix)])
        if name == "CRON_TZ":
            self.zone = _zone(text, setting.value)
        if name == "HOME" and not value.startswith("/"):
            message = f"{quoted(value)} is not an absolute path: jobs run where krond does"
            notes.add(NoteCode.HOME, message, setting.value)
        self._settings[name] = value
        self._surroundings.clear()
        if name not in _OF_CRON:
            return ""
        code, message, fix = _OF_CRON[name]
        notes.add(code, message, setting.name, fix)
        return "" if name == "CRON_TZ" else code

    def of(self, text: str, user: str, place: Token, notes: Notes) -> Surroundings:
        """The surroundings of a user's job in the line `text`. An odd user is noted once."""
        known = self._surroundings.get(user)
        if known is not None:
            return known
        if self._users_must_exist and user and self._home_of(user) is None:
            message = f"there is no user {quoted(user)} here"
            fix = "create it, or name another"
            raise ParseError(text, [place.problem(Code.FIELD_VALUE, message, fix=fix)])
        self._variables += len(self._settings)
        if self._variables > MOST_VARIABLES:
            message = f"the jobs so far have more than {MOST_VARIABLES} variables between them"
            fix = "put the settings before the jobs"
            raise ParseError(text, [place.problem(Code.LIMIT, message, fix=fix)])
        home = self._settings.get("HOME")
        if home is None and user:
            home = self._home_of(user)
            self._note_home(user, home, place, notes)
        variables = {"SHELL": self.shell, "PATH": self._settings.get("PATH", DEFAULT_PATH)}
        if home is not None:
            variables["HOME"] = home
        if user:
            variables |= dict.fromkeys(LOGIN, user)
        variables |= {
            name: value for name, value in self._settings.items() if name not in variables
        }
        directory = home if home is not None and home.startswith("/") else ""
        found = Surroundings("/" if directory == _NO_HOME else directory, tuple(variables.items()))
        self._surroundings[user] = found
        return found

    def _note_home(self, user: str, home: str | None, place: Token, notes: Notes) -> None:
        if user in self._told:
            return
        self._told.add(user)
        if home is None:
            message = f"there is no user {quoted(user)} here, so the home directory is unknown"
            fix = "add cwd=... and env=HOME=... to the jobs"
            notes.add(NoteCode.USER_UNKNOWN, message, place, fix)
        elif home == _NO_HOME:
            message = f"the home directory of {quoted(user)} is {home}: jobs run in /"
            notes.add(NoteCode.HOME, message, place)


def _zone(text: str, value: Token) -> str:
    try:
        return plain_zone(load_zone(value.text).key)
    except ParseError as error:
        problems = [problem.shifted(value.start) for problem in error.problems]
        raise ParseError(text, problems) from None
