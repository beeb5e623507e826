"""Hooks: who hears of what happens to a job's runs, and how their fields are read.

A hook is a command or a URL. No message here quotes a URL, which may be a secret.
"""

from __future__ import annotations

import re
from enum import StrEnum

from kron.core.errors import Code, ParseError, quoted
from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SENDMAILS = ("/usr/sbin/sendmail", "/usr/lib/sendmail")
"""Where a host has its sendmail."""
LONGEST_URL = 2_000
MOST_ADDRESSES = 20
_LAST_PORT = 65_535

_ANY_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://").match
_MISTYPED_URL = re.compile(r"[ \t]*https?[:/]", re.IGNORECASE).match
"""Such as https:/host/path: as a command, it would be logged with whatever is secret in it."""
_URL = re.compile(
    r"(?P<site>(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)"
    r"(?::(?P<port>[0-9]{1,5}))?)"
    r"(?P<path>/[!-~]*)?"
).fullmatch
_NOT_A_URL = "this is not a URL that krond can call"
_LOCAL = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]").fullmatch
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_ADDRESS = re.compile(
    rf"(?!-)(?!.*=\?)(?=[^@]{{1,64}}(?:@|$)){_ATOM}(?:\.{_ATOM})*(?:@(?=.{{1,250}}$){_LABEL}(?:\.{_LABEL})*)?"
).fullmatch
"""None begins like an option or has an encoded word in it."""
_BETWEEN_ADDRESSES = re.compile(r"[^, \t]+")


class Happening(StrEnum):
    """What a hook is for."""

    START = "start"
    SUCCESS = "success"
    FAILURE = "failure"
    MISSED = "missed"


class MailOn(StrEnum):
    FAILURE = "failure"
    """A run failed, or a period was missed."""
    OUTPUT = "output"
    """A run has printed something, as with cron."""
    ALWAYS = "always"


class Mail(Frozen):
    to: tuple[str, ...]
    on: MailOn = MailOn.FAILURE
    sender: str = ""
    """'' for the run's user."""
    is_crons: bool = False
    """Whether it looks like a mail of cron: its subject, and nothing but the output in it."""
    is_implied: bool = False
    """Whether nobody asked for it: cron mails to the owner, but only where mail can be sent."""


class Hooks(Frozen):
    """Each a command as written or a URL; '' for none."""

    start: str = ""
    success: str = ""
    failure: str = ""
    missed: str = ""
    mail: Mail | None = None

    def of(self, happening: Happening) -> str:
        hook: str = getattr(self, happening)
        return hook

    def commands(self) -> list[tuple[str, str]]:
        """The commands and URLs that are set, each by its field."""
        return [(key, self.of(each)) for key, each in HOOK_FIELDS.items() if self.of(each)]

    def items(self) -> list[tuple[str, str]]:
        """What is set, each by its field, as a line has it."""
        found = self.commands()
        if self.mail:
            sender = [("mail_from", self.mail.sender)] if self.mail.sender else []
            found += [("mail", ",".join(self.mail.to)), ("mail_on", self.mail.on), *sender]
        return found

    @property
    def wants_output(self) -> bool:
        return bool(self.success or self.failure or self.mail)


HOOK_FIELDS = {f"on_{happening}": happening for happening in Happening}


def hooks_of(values: dict[str, Any]) -> Hooks | None:
    """The hooks that the fields of a line say; None if they say none."""
    own = {str(happening): values.get(key, "") for key, happening in HOOK_FIELDS.items()}
    mail = None
    if "mail" in values:
        mail = Mail(
            values["mail"], values.get("mail_on", MailOn.FAILURE), values.get("mail_from", "")
        )
    return Hooks(**own, mail=mail) if mail or any(own.values()) else None


def is_url(hook: str) -> bool:
    return _ANY_URL(hook) is not None


def site_of(url: str) -> str:
    """The part of a URL that may be logged: scheme, host and port."""
    match = _URL(url)
    return match["site"] if match else ""


def is_allowed_url(url: str) -> bool:
    """Whether krond may ask this URL: encrypted, or no further than this host."""
    match = _URL(url)
    return match is not None and (match["scheme"] == "https" or _LOCAL(match["host"]) is not None)


def read_hook(text: str) -> str:
    if not text.strip(" \t"):
        raise _error(text, "the hook is empty", "name a program or an https URL, or leave it out")
    known = _ANY_URL(text)
    if known is None and _ANY_URL(text.strip(" \t")):
        raise _error(text, "a URL does not begin with a space", "remove it")
    if known is None and _MISTYPED_URL(text):
        raise _error(text, _NOT_A_URL, "write https://host/path")
    if known is None:
        return text
    if len(text) > LONGEST_URL:
        raise _error(text, f"the URL is longer than {LONGEST_URL} characters")
    if known[1] not in ("https", "http"):
        raise _error(text, f"a hook cannot be a URL of {quoted(known[1])}", "write an https URL")
    match = _URL(text)
    if match is None or "#" in text or int(match["port"] or 0) > _LAST_PORT:
        raise _error(text, _NOT_A_URL, "write https://host/path")
    if not is_allowed_url(text):
        fix = "write https; http is for this host only, such as http://localhost:8000/"
        raise _error(text, "the URL is not encrypted", fix)
    return text


def read_addresses(text: str) -> tuple[str, ...]:
    """Addresses with commas or spaces between them."""
    found: dict[str, None] = {}
    for match in _BETWEEN_ADDRESSES.finditer(text):
        if not _ADDRESS(match[0]):
            fix = "write it like ops@example.org, or root for a user of this host"
            message = f"{quoted(match[0])} is not an address for mail"
            raise _error(text, message, fix, match.start(), match.end())
        found[match[0]] = None
    if not found:
        raise _error(text, "there is no address", "write it like ops@example.org")
    if len(found) > MOST_ADDRESSES:
        message = f"there are more than {MOST_ADDRESSES} addresses"
        raise _error(text, message, "mail to a list instead")
    return tuple(found)


def read_sender(text: str) -> str:
    sender, *others = read_addresses(text)
    if others:
        raise _error(text, "a mail is from one address", "keep one of them")
    return sender


def read_mail_on(text: str) -> MailOn:
    if text in tuple(MailOn):
        return MailOn(text)
    raise _error(text, f"{quoted(text)} is not {', '.join(MailOn)}")


def _error(text: str, message: str, fix: str = "", start: int = 0, end: int = -1) -> ParseError:
    return ParseError.single(text, Code.FIELD_VALUE, message, start=start, end=end, fix=fix)
