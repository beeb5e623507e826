"""krond's own environment, which its runs inherit: what it was started with, byte for byte."""

from __future__ import annotations

from collections.abc import Collection

from kron.console.program import RESTARTED


def own_environment(without: Collection[str]) -> dict[bytes, bytes]:
    """What whoever started krond has put there, except these names.

    Not `os.environ`: Python adds LC_CTYPE where the locale is C, and krond may have started itself
    again with PYTHONUTF8. Neither is meant for a job.
    """
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123
        variables = dict(
            variable.split(b"=", 1) for variable in file.read().split(b"\0") if b"=" in variable
        )
    before = variables.pop(RESTARTED.encode(), None)
    if before is not None:
        variables.pop(b"PYTHONUTF8", None)
    if before:
        variables[b"PYTHONUTF8"] = before
    for name in without:
        variables.pop(name.encode(), None)
    return variables
