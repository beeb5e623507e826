"""A block: the jobs of a crontab between two settings, with what they share in a defaults line."""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS
from kron.core.tokens import Token
from kron.jobs.crontab.crontab import POLICY
from kron.jobs.crontab.note import NoteCode, Notes
from kron.jobs.defaults import DEFAULTS, OF_ONE_JOB
from kron.jobs.line import compose

Fields = tuple[tuple[str, str], ...]


class BlockJob(Frozen):
    schedule_text: str
    """Without the policy, which is that of every job of a crontab."""
    fields: Fields
    """All but those of `env`."""
    env: Fields
    """One value for all jobs with the same variables, of which there may be many."""
    output: list[str]
    """Where its line goes."""
    notes: Notes


class Block:
    """`output` is where its defaults line goes. The defaults of a block before it end there."""

    def __init__(self, output: list[str]) -> None:
        self.jobs: list[BlockJob] = []
        self._output = output

    def write(self, left: int) -> int:
        """Write all lines, with `left` bytes for them: what is left then; less than 0: too many."""
        if not self.jobs:
            return left
        own_env = {id(job.env): job.env for job in self.jobs}
        fields, env = _shared(job.fields for job in self.jobs), _shared(own_env.values())
        defaults = compose(f"{DEFAULTS} {POLICY}", [*fields, *env])
        policy = ""
        if _is_too_long(defaults):  # then each job says everything itself
            defaults, fields, env, policy = DEFAULTS, {}, {}, f" {POLICY}"
        for key, variables in own_env.items():
            own_env[key] = tuple(field for field in variables if field not in env)
        self._output.append(defaults)
        left -= len(defaults.encode()) + 1
        for job in self.jobs:
            own = [field for field in job.fields if field not in fields]
            written = compose(f"{job.schedule_text}{policy}", [*own, *own_env[id(job.env)]])
            if _is_too_long(written):
                written = _comment(job.notes)
            job.output.append(written)
            left -= len(written.encode()) + 1
            if left < 0:
                break
        return left


def _shared(each: Iterable[Fields]) -> dict[tuple[str, str], None]:
    """What all of them have and may have a default, as the first one orders it."""
    first, *others = each
    shared = dict.fromkeys(field for field in first if field[0] not in OF_ONE_JOB)
    for fields in others:
        for field in shared.keys() - set(fields):
            del shared[field]
    return shared


def not_carried_over(shown: str, code: str) -> str:
    return f"# not carried over: {shown} [{code}]"


def _is_too_long(line: str) -> bool:
    return len(line.encode()) > DEFAULT_LIMITS.line_bytes


def _comment(notes: Notes) -> str:
    message = f"the line would be longer than {DEFAULT_LIMITS.line_bytes} bytes"
    fix = "put the command into a script"
    notes.add(NoteCode.LONG_LINE, message, Token(notes.text, 0), fix)
    return not_carried_over(notes.text.strip(" \t"), NoteCode.LONG_LINE)
