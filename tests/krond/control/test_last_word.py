"""The last word of a krond that refuses before it is asked."""

from __future__ import annotations

import subprocess
import sys

REFUSED = """
import os, signal, socket, tempfile, threading
from kron.krond.control.client import LastWord, NoAnswer
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as for every command
with tempfile.TemporaryDirectory() as directory:
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{directory}/control.sock")
    server.listen()
    def refuse():
        connection, _ = server.accept()
        connection.recv(1024)
        connection.shutdown(socket.SHUT_RD)  # what is sent after the answer breaks the pipe
        connection.sendall(b'{"ok": false, "error": "no", "fix": ""}\\n')
        connection.close()
    threading.Thread(target=refuse, daemon=True).start()
    word = LastWord(directory)
    try:
        word.wait()
    except NoAnswer:
        print("no answer")
"""


def test_a_krond_that_refuses_and_closes_does_not_end_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSED], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "no answer\n"), done.stderr
