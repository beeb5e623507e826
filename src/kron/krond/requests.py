"""Requests: what `krond status`, `trigger` and the others ask of the daemon, and its answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.krond.control import AWAITING, Connection, refusal
from kron.krond.settings import UNLIMITED_RUNS, OnStop
from kron.krond.state.errors import PersistenceError
from kron.krond.state.record import Ended
from kron.krond.status import ended_to_json, status_of_jobs
from kron.logs.timestamp import timestamp_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.daemon import Daemon

    Answer = dict[str, object] | None
    """None: the answer comes later."""


class Requests:
    """Answers requests from the control socket."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._handlers: dict[str, Callable[[Mapping[str, object], Connection], Answer]] = {
            "status": self._status,
            "trigger": self._trigger,
            "reload": self._reload,
            "stop": self._stop,
            "forget": self._forget,
        }

    def answer(self, request: Mapping[str, object], connection: Connection) -> Answer:
        """The answer to a request; what is wrong with one is an answer too."""
        try:
            command = _text(request, "command")
            handler = self._handlers.get(command)
            if handler is None:
                message = f"there is no command {quoted(command)}"
                raise KronError(Code.CONTROL, message, fix=did_you_mean(command, self._handlers))
            return handler(request, connection)
        except PersistenceError:
            raise  # that ends krond, whoever asked
        except KronError as error:
            return refusal(error)

    def _status(self, request: Mapping[str, object], connection: Connection) -> Answer:
        daemon = self._daemon
        job = _text(request, "job", "")
        members = [daemon.roster.find(job)] if job else list(daemon.roster)
        most = daemon.settings.most_running
        return {
            "ok": True,
            "version": daemon.version,
            "pid": os.getpid(),
            "started": timestamp_text(daemon.started_ns),
            "state_dir": daemon.settings.state_dir,
            "log_file": daemon.journal.path,
            "lost_log_lines": daemon.journal.lost,
            "output_file": daemon.settings.output_file,
            "stopping": daemon.is_stopping,
            "active": len(daemon.supervisor.runs),
            "waiting": len(daemon.starter.pending),
            "max_running": None if most == UNLIMITED_RUNS else most,
            "total": len(daemon.roster),
            "jobs": status_of_jobs(members),
        }

    def _trigger(self, request: Mapping[str, object], connection: Connection) -> Answer:
        daemon = self._daemon
        waits = request.get("wait") is True
        if waits and not connection.may_wait:
            message = (
                f"{AWAITING} others, or as many as krond may open files, wait for runs already"
            )
            raise KronError(Code.CONTROL, message, fix="start it without waiting for its end")
        told: list[Ended] = []
        is_later = False

        def ended(end: Ended) -> None:
            told.append(end)
            if waits and is_later:
                connection.answer({"ok": True, "ended": ended_to_json(end)})

        pending = daemon.trigger(_text(request, "job"), ended)
        if told and told[0].started_ns is None:
            raise KronError(Code.CONTROL, f"the run could not start: {told[0].reason}")
        is_later = True
        if waits:
            return None
        return {"ok": True, "run_id": pending.run_id, "waits_for": pending.waits_for}

    def _reload(self, request: Mapping[str, object], connection: Connection) -> Answer:
        wrong = self._daemon.reload()
        if wrong:
            return {"ok": False, "code": "configuration", "error": wrong, "fix": ""}
        return {"ok": True, "total": len(self._daemon.roster)}

    def _stop(self, request: Mapping[str, object], connection: Connection) -> Answer:
        how = _text(request, "how", "")
        if how and how not in set(OnStop):
            message = f"{quoted(how)} is none of {', '.join(OnStop)}"
            raise KronError(Code.CONTROL, message)
        if how or not self._daemon.is_stopping:  # to ask twice is not to insist, as a signal is
            self._daemon.stop("krond stop", OnStop(how) if how else None)
        return {"ok": True, "active": len(self._daemon.supervisor.runs)}

    def _forget(self, request: Mapping[str, object], connection: Connection) -> Answer:
        member = self._daemon.forget(_text(request, "job"))
        return {"ok": True, "identity": member.entry.identity}


def _text(request: Mapping[str, object], key: str, default: str | None = None) -> str:
    value = request.get(key, default)
    if isinstance(value, str):
        return value
    raise KronError(Code.CONTROL, f"the request needs {quoted(key)}, a text")
