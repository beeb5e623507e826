"""The settings of a crontab up to a line: the environment of the jobs after it.

cron gives a job SHELL, PATH, HOME, LOGNAME and the settings of the crontab, and none of cron's own
environment. cronie sets USER too; Debian's cron does not, but it does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from kron.core.errors import Code, ParseError, Problem, attempt, quoted
from kron.core.tokens import Token
from kron.core.zone import load_zone
from kron.jobs.crontab.line import Setting
from kron.jobs.crontab.local import plain_zone
from kron.jobs.crontab.note import NoteCode, Notes
from kron.jobs.defaults import MOST_VARIABLES
from kron.jobs.hooks import Hooks, Mail, MailOn, read_addresses, read_sender
from kron.jobs.task import CLEAN_PATH, DEFAULT_SHELL

LOGIN = ("LOGNAME", "USER")
"""Variables that a crontab cannot set."""

_NO_HOME = "/nonexistent"
"""Debian's home directory for users without one. cron runs their jobs in /."""

OF_MAIL = ("MAILTO", "MAILFROM")
_NO_TYPE = (NoteCode.MAIL, "a mail of krond is always plain text, encoded as it has to be", "")
_OF_CRON: dict[str, tuple[NoteCode, str, str]] = {
    **dict.fromkeys(("CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"), _NO_TYPE),
    "RANDOM_DELAY": (
        NoteCode.DELAY,
        "cronie's random delay is not used",
        "in a krontab file, @win(after,45m) is a delay of up to 45 minutes",
    ),
    "CRON_WITHIN": (
        NoteCode.DELAY,
        "NetBSD's limit for late jobs is not used",
        "in a krontab file, @policy(deadline=10m) is a limit of 10 minutes",
    ),
    "START_HOURS_RANGE": (
        NoteCode.SETTING,
        "anacron's range of hours is not used",
        "in a krontab file, @only(hours=6-8) does the same",
    ),
    "MLS_LEVEL": (NoteCode.SETTING, "cronie's SELinux level is not used", ""),
    "CRON_TZ": (
        NoteCode.ZONE,
        "from here on times are in this zone, as for cronie; Debian's cron ignores CRON_TZ",
        "",
    ),
}
OF_CRON = (*OF_MAIL, *_OF_CRON)
"""Settings that are meant for cron itself. Its jobs see them too."""

HomeOf = Callable[[str], str | None]
"""From a user's name to the home directory; None if the user does not exist."""

JobEnvironment = tuple[str, tuple[tuple[str, str], ...]]
"""The directory that a job runs in, and its variables."""


class Environment:
    """The settings so far. `user` owns the crontab; '' if each line names its user."""

    def __init__(
        self, user: str, zone: str, home_of: HomeOf, *, users_must_exist: bool = False
    ) -> None:
        self.zone = plain_zone(load_zone(zone).key)
        self._user = user
        self._home_of = home_of
        self._users_must_exist = users_must_exist
        self._settings: dict[str, str] = {}
        # Equal environments are one value, so that a long crontab stays small in memory.
        self._environments: dict[str, JobEnvironment] = {}
        self._hooks: dict[str, Hooks | None] = {}
        self._variables = 0
        self._noted_users: set[str] = set()

    @property
    def shell(self) -> str:
        return self._settings.get("SHELL", DEFAULT_SHELL)

    def set(self, setting: Setting, notes: Notes) -> str:
        """Apply a setting. Returns the code of its note if it has no effect on jobs."""
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
            raise notes.error(Code.FIELD_VALUE, message, setting.value, fix)
        if name == "CRON_TZ":
            problems: list[Problem] = []
            zone = attempt(problems, load_zone, value, setting.value.start)
            if zone is None:
                raise ParseError(notes.text, problems)
            self.zone = plain_zone(zone.key)
        if name == "HOME" and not value.startswith("/"):
            message = f"{quoted(value)} is not an absolute path: jobs run where krond does"
            notes.add(NoteCode.HOME, message, setting.value)
        self._settings[name] = value
        self._environments.clear()
        self._hooks.clear()
        if name in OF_MAIL and value:
            return self._check_mail(setting, notes)
        if name not in _OF_CRON:
            return ""
        code, message, fix = _OF_CRON[name]
        notes.add(code, message, setting.name, fix)
        return "" if name == "CRON_TZ" else code

    def of(self, user: str, place: Token, notes: Notes) -> JobEnvironment:
        """The environment of a user's job. An odd user is noted once."""
        known = self._environments.get(user)
        if known is not None:
            return known
        if self._users_must_exist and user and self._home_of(user) is None:
            message = f"there is no user {quoted(user)} here"
            raise notes.error(Code.FIELD_VALUE, message, place, "create it, or name another")
        self._variables += len(self._settings)
        if self._variables > MOST_VARIABLES:
            message = f"the jobs so far have more than {MOST_VARIABLES} variables between them"
            raise notes.error(Code.LIMIT, message, place, "put the settings before the jobs")
        home = self._settings.get("HOME")
        if home is None and user:
            home = self._home_of(user)
            self._note_home(user, home, place, notes)
        variables = {"SHELL": self.shell, "PATH": self._settings.get("PATH", CLEAN_PATH)}
        if home is not None:
            variables["HOME"] = home
        if user:
            variables |= dict.fromkeys(LOGIN, user)
        variables |= self._settings  # they hold no LOGNAME and no USER
        directory = home if home and home.startswith("/") else ""
        directory = "/" if directory == _NO_HOME else directory
        self._environments[user] = directory, tuple(variables.items())
        return self._environments[user]

    def hooks(self, user: str) -> Hooks | None:
        """Who gets the output of a user's job by mail, as with cron: MAILTO or, if it is not set,
        the user; nobody if it is empty."""
        if user not in self._hooks:
            to, sender = self._settings.get("MAILTO"), self._settings.get("MAILFROM", "")
            mail = None
            with suppress(ParseError):  # noted when it was set
                addresses = read_addresses(user if to is None else to)
                mail = Mail(
                    *(addresses, MailOn.OUTPUT, read_sender(sender) if sender else ""),
                    is_crons=True,
                    is_implied=to is None,
                )
            self._hooks[user] = Hooks(mail=mail) if mail else None
        return self._hooks[user]

    def _check_mail(self, setting: Setting, notes: Notes) -> str:
        """The code of the note, if no mail is sent for this setting."""
        try:
            (read_addresses if setting.name.text == "MAILTO" else read_sender)(setting.value.text)
        except ParseError as error:
            message = f"no mail is sent from here on: {error.message}"
            notes.add(NoteCode.MAIL, message, setting.value, error.fix)
            return NoteCode.MAIL
        return ""

    def _note_home(self, user: str, home: str | None, place: Token, notes: Notes) -> None:
        if user in self._noted_users:
            return
        self._noted_users.add(user)
        if home is None:
            message = f"there is no user {quoted(user)} here, so the home directory is unknown"
            fix = "add cwd=... and env=HOME=... to the jobs"
            notes.add(NoteCode.USER_UNKNOWN, message, place, fix)
        elif home == _NO_HOME:
            message = f"the home directory of {quoted(user)} is {home}: jobs run in /"
            notes.add(NoteCode.HOME, message, place)
