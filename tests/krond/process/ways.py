"""The ways to start a process, each of which can be made the only one."""

from __future__ import annotations

from collections.abc import Callable

from kron.krond.process import launched, spawned

WAYS = ("spawned", *(("launched",) if launched.is_there() else ()), "forked")
"""In the order in which krond prefers them."""
FOR_OTHERS = WAYS[1:]
"""Those that can change the user."""


def only(way: str, set_: Callable[[object, str, object], None] = setattr) -> None:
    """Have processes started in this way from now on, if `set_` can set it."""
    if way != "spawned":
        set_(spawned, "suits", lambda *_: False)
    if way == "forked":
        set_(launched, "is_there", lambda: False)
