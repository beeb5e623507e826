"""Watching KronJobs: what they are now, then each change, until somebody ends it.

The reflector lists, watches, resumes and lists again after an expired version. This prints what it
hears.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kron.console.terminal import Terminal
from kron.kube.api_object import Object
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError
from kron.kube.client.reflector import Key, Reflector
from kron.kube.client.resources import KRONJOBS
from kron.kube.kronctl.lookup import check_namespace, stored

_FOR_GOOD = (400, 401, 403, 404)
"""Answers after which the next try has no better chance."""


class Printer(Protocol):
    def begin(self, found: Sequence[Object]) -> None:
        """These exist when the watch begins."""

    def change(self, obj: Object, *, is_deleted: bool) -> None:
        """One is new, has changed or was deleted."""


class _Changes:
    """The sink of the reflector."""

    def __init__(self, printer: Printer, is_wanted: Callable[[Object], bool]) -> None:
        self._printer = printer
        self._is_wanted = is_wanted
        self._known: dict[Key, Object] = {}
        self._is_begun = False

    def put(self, obj: Object) -> None:
        content = stored(KRONJOBS, "watch", obj)
        if not self._is_wanted(content):
            return
        self._known[_key(content)] = content
        if self._is_begun:
            self._printer.change(content, is_deleted=False)

    def drop(self, obj: Object) -> None:
        if self._known.pop(_key(obj), None) is not None:
            self._printer.change(obj, is_deleted=True)

    def keep(self, names: set[Key], namespace: str | None) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._printer.begin(list(self._known.values()))
        for key in [key for key in self._known if key not in names]:
            self._printer.change(self._known.pop(key), is_deleted=True)

    def restored(self) -> None:
        pass


def _key(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


async def watch(
    client: Client,
    within: str | None,
    selector: str,
    printer: Printer,
    terminal: Terminal,
    *,
    is_wanted: Callable[[Object], bool] = lambda _: True,
) -> None:
    """Print until it is cancelled; `KronError` if it cannot begin, or cannot go on."""
    if within is not None:
        await check_namespace(client, within)

    def failed(error: ApiError) -> None:
        if not reflector.synced.is_set() or error.status in _FOR_GOOD:
            raise error
        terminal.error(f"note: {error}; trying again")

    reflector = Reflector(
        client,
        KRONJOBS,
        within,
        _Changes(printer, is_wanted),
        selector=selector,
        observe_failure=failed,
    )
    await reflector.run()
