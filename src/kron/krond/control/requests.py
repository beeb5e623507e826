"""The requests of `krond status`, `trigger` and the other commands, and their answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import kron
from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.core.instant import optional_text, to_text
from kron.jobs.task import Task
from kron.krond.configuration.settings import UNLIMITED_RUNS, OnStop, OutputSettings
from kron.krond.control.server import AWAITING, Connection, ControlServer, refusal
from kron.krond.handover import Handover
from kron.krond.program import OK, exit_code
from kron.krond.result import signal_name
from kron.krond.roster.member import HostMember
from kron.krond.roster.run import Stage
from kron.krond.state.errors import StateLost
from kron.krond.state.fields import optional_timestamp, record_to_json
from kron.krond.state.past import COLUMNS
from kron.krond.state.record import Ended
from kron.logs.timestamp import timestamp_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.daemon import Daemon

    Answer = dict[str, object] | None
    """None: the answer comes later."""


UPGRADE = "upgrade"
"""What a client waits for that has asked for one."""
END = "end"
"""What a client waits for that has asked how krond ends."""
UNKNOWN_END = "krond was upgraded meanwhile, and does not know how the run ended"
SEE_HISTORY = "krond history shows it, if it has ended"


class Requests:
    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._awaiting_end: list[Connection] = []
        self._handlers: dict[str, Callable[[Mapping[str, object], Connection], Answer]] = {
            "status": self._status,
            "trigger": self._trigger,
            "reload": self._reload,
            "upgrade": self._upgrade,
            "stop": self._stop,
            END: self._await_end,
            "forget": self._forget,
        }

    def answer(self, request: Mapping[str, object], connection: Connection) -> Answer:
        """The answer to a request. An error in the request is an answer too."""
        try:
            command = _text(request, "command")
            handler = self._handlers.get(command)
            if handler is None:
                message = f"the command {quoted(command)} does not exist"
                raise KronError(Code.CONTROL, message, fix=did_you_mean(command, self._handlers))
            return handler(request, connection)
        except StateLost:
            raise  # that ends krond
        except KronError as error:
            return refusal(error)

    def _status(self, request: Mapping[str, object], connection: Connection) -> Answer:
        daemon = self._daemon
        job = _text(request, "job", "")
        members = [daemon.roster.find(job)] if job else list(daemon.roster)
        most = daemon.settings.most_running
        return {
            "ok": True,
            "version": kron.__version__,
            "pid": os.getpid(),
            "started": timestamp_text(daemon.started_ns),
            "state_dir": daemon.settings.state_dir,
            "log_file": daemon.journal.path,
            "lost_log_lines": daemon.journal.lost,
            "output_file": daemon.settings.output_file,
            "output_dir": daemon.settings.outputs.directory,
            "stopping": daemon.is_stopping,
            "active": len(daemon.supervisor.runs),
            "waiting": len(daemon.starter.waiting),
            "max_running": None if most == UNLIMITED_RUNS else most,
            "total": len(daemon.roster),
            "troubles": daemon.troubles(),
            "jobs": [
                job_status(member) | _destinations(member.entry.task, daemon.settings.outputs)
                for member in members
            ],
            "removed": [] if job else list(map(_removed, daemon.roster.retired.values())),
        }

    def _trigger(self, request: Mapping[str, object], connection: Connection) -> Answer:
        daemon = self._daemon
        waits = request.get("wait") is True
        if waits and not connection.may_wait:
            message = f"too many clients wait for runs: {AWAITING}, or krond's limit of open files"
            raise KronError(Code.CONTROL, message, fix="trigger it without --wait")
        ends: list[Ended] = []
        is_later = False

        def ended(end: Ended) -> None:
            ends.append(end)
            if waits and is_later:
                instead_of = pending.instead_of
                connection.answer({"ok": True, "ended": _ended(end), "instead_of": instead_of})

        pending = daemon.orders.trigger(_text(request, "job"), ended)
        if ends and ends[0].started_ns is None:
            raise KronError(Code.CONTROL, f"the run could not start: {ends[0].reason}")
        is_later = True
        if waits:
            connection.awaits = pending.run_id
            return None
        return {
            "ok": True,
            "run_id": pending.run_id,
            "waits_for": pending.waits_for,
            "instead_of": pending.instead_of,
        }

    def _reload(self, request: Mapping[str, object], connection: Connection) -> Answer:
        if wrong := self._daemon.reload():
            return {"ok": False, "code": "configuration", "error": wrong, "fix": ""}
        return {"ok": True, "total": len(self._daemon.roster)}

    def _stop(self, request: Mapping[str, object], connection: Connection) -> Answer:
        how = _text(request, "how", "")
        if how and how not in set(OnStop):
            raise KronError(Code.CONTROL, f"{quoted(how)} is not one of {', '.join(OnStop)}")
        # Unlike a second signal, a second request changes nothing.
        if how or not self._daemon.is_stopping:
            self._daemon.stop("krond stop", OnStop(how) if how else None)
        runs = self._daemon.supervisor.runs.values()
        return {
            "ok": True,
            "how": self._daemon.stopping,
            "active": len(runs),
            "runs": [{"name": run.member.entry.name, "pid": run.pid} for run in runs],
        }

    def _await_end(self, request: Mapping[str, object], connection: Connection) -> Answer:
        connection.awaits = END
        self._awaiting_end.append(connection)
        return None

    def ended(self, error: KronError | None) -> None:
        """krond ends, for this error or because it was asked to: answer all that wait for it."""
        end = {"exit_code": OK, "error": ""}
        if error is not None:
            end = {"exit_code": exit_code(error), "error": str(error)}
        for connection in self._awaiting_end:
            connection.answer({"ok": True, **end})

    def _upgrade(self, request: Mapping[str, object], connection: Connection) -> Answer:
        connection.awaits = UPGRADE
        self._daemon.upgrade.ask(connection)
        return None

    def go_on(self, handover: Handover, control: ControlServer) -> None:
        """Take the clients of the program before this one."""
        for descriptor, awaits in handover.clients:
            connection = control.take(descriptor, awaits)
            if awaits:
                self._answer_for(handover.version, connection)

    def _answer_for(self, upgraded_from: str, connection: Connection) -> None:
        """Answer what that program was asked, now or once a run ends."""
        run = self._daemon.supervisor.runs.get(connection.awaits)
        if run is not None:
            run.on_end.append(lambda end: connection.answer({"ok": True, "ended": _ended(end)}))
        elif connection.awaits == UPGRADE:
            total = len(self._daemon.roster)
            versions = {"version": kron.__version__, "upgraded_from": upgraded_from}
            connection.answer({"ok": True, **versions, "total": total})
        elif connection.awaits == END:
            self._awaiting_end.append(connection)
        else:
            connection.answer(refusal(KronError(Code.CONTROL, UNKNOWN_END, fix=SEE_HISTORY)))

    def _forget(self, request: Mapping[str, object], connection: Connection) -> Answer:
        if request.get("all_ahead") is True:
            forgotten = [member.entry.identity for member in self._daemon.orders.forget_ahead()]
            return {"ok": True, "identities": forgotten}
        return {"ok": True, "identity": self._daemon.orders.forget(_text(request, "job"))}


def job_status(member: HostMember) -> dict[str, object]:
    entry = member.entry
    following = min(
        (d for d in (member.plan.decisions if member.plan else ()) if d.chosen_s is not None),
        key=lambda decision: (decision.chosen_s, decision.nominal_s),
        default=None,
    )
    latest, last_run, standing = member.past.latest, member.past.last_run, member.past.standing
    return {
        "name": entry.name,
        "file": entry.path,
        "identity": entry.identity,
        "schedule": entry.schedule_text,
        "description": entry.description,
        "suspended": entry.schedule.policy.suspend,
        "at_boot": entry.schedule.is_at_boot,
        "clock_behind": member.is_behind,
        "next": following
        and {"period": to_text(following.nominal_s), "chosen": optional_text(following.chosen_s)},
        **_processes(member),
        "waiting": [
            {
                "run_id": pending.run_id,
                "period": pending.record.period,
                "reason": pending.waits_for,
                "until": optional_text(pending.latest_s),
            }
            for pending in member.pending
        ],
        "last": latest and _ended(latest),
        "last_run": last_run and _ended(last_run),
        "last_success": standing.success and _ended(standing.success),
        "failed": standing.failed and _ended(standing.failed),
        "missed": standing.missed and _ended(standing.missed),
    }


def _removed(member: HostMember) -> dict[str, object]:
    """A job that is no longer configured, and of which something goes on."""
    entry = member.entry
    return {
        "name": entry.name,
        "file": entry.path,
        "identity": entry.identity,
        **_processes(member),
    }


def _processes(member: HostMember) -> dict[str, object]:
    return {
        "active": [
            {
                "run_id": run.run_id,
                "pid": run.pid,
                "period": run.record.period,
                "started": optional_timestamp(run.record.started_ns),
                "stopping": run.stage is not Stage.RUNNING,
                "adopted": run.is_adopted,
            }
            for run in member.runs
        ],
        "left_behind": [
            {"run_id": leftover.run_id, "processes": len(pids), "pids": pids}
            for leftover in member.leftovers
            for pids in (sorted(leftover.cgroup.processes()),)
        ],
    }


def _destinations(task: Task, outputs: OutputSettings) -> dict[str, object]:
    """Where the output of the next run goes, as a line would say it."""
    return {
        "stdout": str(outputs.resolved(task.stdout, task)),
        "stderr": str(outputs.resolved(task.stderr, task)),
    }


def _ended(ended: Ended) -> dict[str, object]:
    signal = None if ended.signal is None else signal_name(ended.signal)
    return record_to_json(ended, COLUMNS) | {"signal": signal}


def _text(request: Mapping[str, object], key: str, default: str | None = None) -> str:
    value = request.get(key, default)
    if isinstance(value, str):
        return value
    raise KronError(Code.CONTROL, f"the request needs a text {quoted(key)}")
