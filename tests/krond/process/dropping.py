"""A krond that starts one run, for tests that break it from outside. It prints what came of it."""

from __future__ import annotations

import ctypes
import json
import os
import sys

from kron.krond.process.account import Account
from kron.krond.process.failure import StartError
from kron.krond.process.launch import launch
from kron.krond.process.output import open_output
from tests.krond.process.scene import GROUP, OTHER, USER, no_child_is_left, scene, surroundings
from tests.krond.process.ways import only

PR_SET_KEEPCAPS = 8


def main(mode: str, way: str, path: str) -> None:
    only(way)
    account = Account(USER, GROUP, (GROUP, OTHER), "somebody")
    if mode == "keepcaps":
        ctypes.CDLL(None).prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    if mode == "nobody":
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    with scene() as here:
        what = here.launch_of("/bin/touch", path, account=account)
        if mode == "own":
            what = what.replace(account=None)
        before = surroundings()
        answer: dict[str, object] = {"reason": "", "for_good": None}
        try:
            if mode == "output":
                os.close(open_output(path, account, None))
            else:
                os.waitpid(launch(what), 0)
        except StartError as error:
            answer = {"reason": error.reason, "for_good": error.for_good}
        answer["unchanged"] = surroundings() == before
        answer["childless"] = no_child_is_left()
        answer["proof"] = here.proof.exists()
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
