"""`krond output`: show what the runs of a job have printed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from functools import partial

from kron.console.parser import Parser, number_up_to
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError, quoted, visible
from kron.krond.control.client import ControlError, NoAnswer, NotRunning, ask_status
from kron.krond.directories import add_output_dir, add_state_dir, state_dir_of, used_output_dir_of
from kron.krond.output.names import directory_name
from kron.krond.output.reader import POLL_S, KeptOutput, directories_of, kept_outputs, pieces
from kron.krond.state.record import RETRIED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

PATIENCE_S = 2.0
"""How long krond may take to answer before the outputs on disk have to do."""

DESCRIPTION = """\
Show what the last run of a job has printed, as far as it is kept. Both of its streams are in one
output, in the order in which they came. On a terminal, control characters are shown as text.

With --follow, continue until the run and everything it has left in the background are done
printing. The command finds the outputs by itself where no krond is running or none answers, and
those of a job that was removed."""
EXAMPLES = (
    ("krond output backup", "the output of its last run"),
    ("krond output backup --last 5", "the last five outputs, each below a line that names its run"),
    ("krond output backup --follow", "what it prints now"),
    ("krond output backup --run 9f0c2d4e6a8b1c3d5e7f", "that of one run, as the log names it"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", help="a name, or <absolute path of its file>:<name>")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--run", metavar="ID", default="", help="the output of this run")
    which.add_argument(
        "--last", type=number_up_to(1_000_000), metavar="N", help="the last N outputs"
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help="continue until the output is complete"
    )
    parser.add_argument(
        "--raw", action="store_true", help="show control characters as they are on a terminal too"
    )
    add_state_dir(parser)
    add_output_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    subject = _Subject(arguments)
    if isinstance(subject.refusal, NoAnswer):
        terminal.error(f"krond: {subject.refusal.message}: this is what is on disk")
    outputs = subject.chosen()
    if not outputs:
        terminal.error(f"krond: {subject.why_nothing()}")
        return 0
    terminal.output.flush()
    is_escaped = terminal.output.isatty() and not arguments.raw
    for place, output in enumerate(outputs):
        if arguments.last:
            heading = f"==> {output.name.started} run {output.name.run_id} <=="
            _put([f"{chr(10) if place else ''}{heading}\n".encode()], is_escaped=False)
        is_followed = arguments.follow and output is outputs[-1]
        is_active = partial(subject.is_active, output.name.run_id) if is_followed else None
        _put(pieces(output, is_active), is_escaped=is_escaped)
    return 0


class _Subject:
    """The job that the command is about: what krond knows of it, and what is on disk."""

    def __init__(self, arguments: Namespace) -> None:
        self.refusal: ControlError | None = None
        """Why krond says nothing of the job, if it runs."""
        self._arguments = arguments
        self._state_dir = state_dir_of(arguments)
        self._path = used_output_dir_of(arguments, self._state_dir)
        self._status = self._asked()
        if self._status is not None and not arguments.output_dir:
            self._path = self._status["output_dir"] or self._path

    def chosen(self) -> list[KeptOutput]:
        arguments = self._arguments
        outputs = self._kept()
        if arguments.run:
            outputs = [each for each in outputs if each.name.run_id == arguments.run][-1:]
            if not outputs and arguments.follow and self.is_active(arguments.run):
                return self._awaited(arguments.run)
            if not outputs:
                message = f"no output of the run {quoted(arguments.run)} is kept"
                if self._status is not None and _is_active(self._row(), arguments.run):
                    message += f": {visible(_why_nothing(self._row(), arguments.run))}"
                raise self._nothing(message)
            return outputs
        if arguments.last:
            if not outputs:
                raise self._nothing("no output is kept")
            return outputs[-arguments.last :]
        last_run = self._last_run()
        if last_run:
            of_last = [each for each in outputs if each.name.run_id == last_run][-1:]
            if of_last or not arguments.follow or not self.is_active(last_run):
                return of_last
            return self._awaited(last_run)
        if not outputs:
            raise self._nothing("no output is kept")
        return outputs[-1:]

    def why_nothing(self) -> str:
        """Why no output of the run is kept, as far as that is known, and which one is."""
        job = quoted(self._arguments.job)
        run = self._arguments.run
        which = f"the run {quoted(run)}" if run else "the last run"
        text = f"no output of {which} of {job} is kept"
        if self._status is not None:
            text += f": {visible(_why_nothing(self._row(), run or self._last_run()))}"
        if outputs := self._kept():
            return f"{text} (krond output {job} --run {outputs[-1].name.run_id} is the last output)"
        return text

    def is_active(self, run_id: str) -> bool:
        """Whether krond says that the run goes on, or waits to start."""
        self._status = self._asked()
        return self._status is not None and _is_active(self._row(), run_id)

    def _asked(self) -> dict[str, Any] | None:
        """What krond says of the job; None if it says nothing."""
        self.refusal = None
        try:
            return ask_status(self._state_dir, self._arguments.job, PATIENCE_S)
        except NotRunning:
            return None
        except ControlError as error:
            self.refusal = error
            return None

    def _kept(self) -> list[KeptOutput]:
        try:
            if self._status is not None:
                row = self._row()
                return kept_outputs(self._path, directory_name(row["identity"], row["name"]))
            job = self._arguments.job
            directories = directories_of(self._path, job, self._state_dir)
            if len(directories) > 1:
                message = f"{len(directories)} jobs with outputs may be called {quoted(job)}"
                raise KronError(Code.CONTROL, message, fix="name one as <file>:<name>")
            return [each for name in directories for each in kept_outputs(self._path, name)]
        except FileNotFoundError:
            return []
        except OSError as error:
            message = f"the outputs in {visible(self._path)} cannot be read: {error.strerror}"
            fix = "ask as krond's user" if isinstance(error, PermissionError) else ""
            raise KronError(Code.FILE_UNREADABLE, message, fix) from None

    def _row(self) -> dict[str, Any]:
        assert self._status is not None
        row: dict[str, Any] = self._status["jobs"][0]
        return row

    def _last_run(self) -> str:
        """The run id of the last run as krond knows it; '' if it knows none."""
        if self._status is None:
            return ""
        row = self._row()
        goes_elsewhere = not _is_kept(row)
        if goes_elsewhere and not self._kept():
            raise self._nothing("its output is not kept")
        if row["active"]:
            return str(row["active"][-1]["run_id"])
        if self._arguments.follow and row["waiting"]:
            return str(row["waiting"][-1]["run_id"])
        is_retried = row["last"] is not None and row["last"]["outcome"] == RETRIED
        last = row["last"] if is_retried else row["last_run"]
        return "" if last is None else str(last["run_id"])

    def _awaited(self, run_id: str) -> list[KeptOutput]:
        """The output of an active run once it prints; nothing if it ends without."""
        is_active = True
        while True:
            found = [each for each in self._kept() if each.name.run_id == run_id]
            if found or not is_active:
                return found
            time.sleep(POLL_S)
            is_active = self.is_active(run_id)

    def _nothing(self, message: str) -> KronError:
        if self._status is None:
            refusal = self.refusal
            if refusal is not None and not isinstance(refusal, NoAnswer) and not self._kept():
                return refusal
            text = f"{message} in {visible(self._path)} for {quoted(self._arguments.job)}"
            return KronError(Code.FILE_MISSING, text, fix="see --output-dir, and krontab list")
        row = self._row()
        if _is_kept(row):
            return KronError(Code.FILE_MISSING, message, fix=f"it would be in {self._path}")
        fix = f"it goes elsewhere: stdout={row['stdout']} stderr={row['stderr']}"
        return KronError(Code.FILE_MISSING, message, fix=visible(fix))


def _is_kept(row: dict[str, Any]) -> bool:
    # A journal that does not exist is replaced by a file.
    return any(row[key] in ("keep", "journal") for key in ("stdout", "stderr"))


def _is_active(row: dict[str, Any], run_id: str) -> bool:
    return any(each["run_id"] == run_id for each in (*row["active"], *row["waiting"]))


def _why_nothing(row: dict[str, Any], run_id: str) -> str:
    """Why a run has no output, as far as krond knows."""
    for waiting in row["waiting"]:
        if waiting["run_id"] == run_id:
            return f"it has not started, and waits for {waiting['reason']}"
    if _is_active(row, run_id):
        return "it is still active"
    last = row["last_run"]
    if last is not None and last["run_id"] == run_id and last["started"] is None:
        return str(last["reason"])
    if elsewhere := [
        f"its {stream} {_whereabouts(row[stream], run_id)}"
        for stream in ("stdout", "stderr")
        if row[stream] != "keep"
    ]:
        return ", ".join(elsewhere)
    return "a run that prints nothing has none, and krond's log says what was lost"


def _whereabouts(destination: str, run_id: str) -> str:
    if destination == "discard":
        return "is discarded"
    if destination == "journal":
        return f"goes to the journal (journalctl KRON_RUN_ID={run_id})"
    if destination == "inherit":
        return "goes where krond's own goes"
    return f"goes to {destination}"


def _put(what: Iterable[bytes], *, is_escaped: bool) -> None:
    """Write bytes to standard output as they are, or so that no terminal obeys them."""
    for piece in _escaped(what) if is_escaped else what:
        rest = piece
        while rest:
            rest = rest[os.write(1, rest) :]


def _escaped(what: Iterable[bytes]) -> Iterator[bytes]:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    for piece in what:
        yield _shown(decoder.decode(piece))
    yield _shown(decoder.decode(b"", final=True))


def _shown(text: str) -> bytes:
    lines = ("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))
    return "\n".join(lines).encode(errors="backslashreplace")
