"""The names of files in a state directory that more than one package knows."""

from __future__ import annotations

PID_FILE = "krond.pid"
"""Holds the process id of its krond, which has locked it."""
SOCKET_NAME = "control.sock"
"""By which the commands reach that krond."""
LOG_NAME = "krond.log"
OUTPUT_NAME = "krond.out"
