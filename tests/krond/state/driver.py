"""A small krond that does nothing but commit: `python -m tests.krond.state.driver DIR COUNT FIRST`.

It commits rounds of COUNT states, from number FIRST on, until its input ends: one for each byte of
it, quickly if that is a `q`. It writes a line for each: `committed 3`, or `failed 3`. Whatever else
goes wrong on purpose is `refused`, or `unsettled 3` if it was that.
"""

from __future__ import annotations

import os
import sys

from kron.core.errors import KronError
from kron.krond.state.errors import PersistenceError
from kron.krond.state.store import StateStore
from tests.krond.state.states import state


def main(path: str, count: int, first: int) -> int:
    try:
        store = StateStore.open(path)
        store.load_all()
    except KronError as error:
        say(f"refused {error}")
        return 2
    number = first
    while how := os.read(0, 1):
        states = [state(f"job-{job}", number) for job in range(count)]
        try:
            store.commit(states, quickly=how == b"q")
        except PersistenceError as error:
            say(f"failed {number} {error}")
        else:
            say(f"committed {number}")
            settle(store, number)
        number += 1
    return 0


def settle(store: StateStore, number: int) -> None:
    try:
        store.write_back()
    except PersistenceError as error:
        say(f"unsettled {number} {error}")


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
