"""The users of this host, as crontabs need to know them: whose a file is, and where jobs run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pwd


class Accounts:
    """Asks the host for each user once: where a directory service answers, that takes a while."""

    def __init__(self) -> None:
        self._found: dict[str, pwd.struct_passwd | None] = {}

    def uid_of(self, user: str) -> int | None:
        """The number of the user called so; None if there is none."""
        found = self._account(user)
        return None if found is None else found.pw_uid

    def home_of(self, user: str) -> str | None:
        """The home directory of the user called so; None if there is none."""
        found = self._account(user)
        return None if found is None else found.pw_dir

    def _account(self, user: str) -> pwd.struct_passwd | None:
        if user not in self._found:
            self._found[user] = _ask(user)
        return self._found[user]


def _ask(user: str) -> pwd.struct_passwd | None:
    import pwd

    try:
        return pwd.getpwnam(user)
    except (KeyError, ValueError):  # ValueError: no name of a user can be written so
        return None
