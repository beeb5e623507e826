"""The names of kept outputs: a directory for each job, in it a file for each run.

`backup.3f9a1c0d7e52/20260302T020731.004217Z-9f0c2d4e6a8b1c3d5e7f.log`: the job's name, and a part
of the hash of its identity, because two files may each have a job of that name; when the run
started (UTC), and its run id. Names sort by time.
"""

from __future__ import annotations

import hashlib
import re

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.instant import to_text

_LONGEST = 100
_HASH_DIGITS = 12
_DIRECTORY = re.compile(rf"[A-Za-z0-9_-][A-Za-z0-9._-]*\.[0-9a-f]{{{_HASH_DIGITS}}}").fullmatch
_FILE = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2}\.[0-9]{6})Z-"
    r"([A-Za-z0-9_][A-Za-z0-9._-]{0,99})\.log"
).fullmatch


class OutputName(Frozen):
    """The parts of a file's name."""

    started: str
    """2026-03-02T02:07:31.004217Z"""
    run_id: str

    @classmethod
    def of(cls, started_ns: int, run_id: str) -> OutputName:
        second, rest_ns = divmod(started_ns, SECOND_NS)
        return cls(f"{to_text(second)[:-1]}.{rest_ns // 1_000:06d}Z", run_id)

    @classmethod
    def read(cls, name: str) -> OutputName | None:
        """None: no output of a run has this name."""
        match = _FILE(name)
        if match is None:
            return None
        year, month, day, hour, minute, second, run_id = match.groups()
        return cls(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z", run_id)

    def __str__(self) -> str:
        return f"{self.started.replace('-', '').replace(':', '')}-{self.run_id}.log"


def directory_name(identity: str, job: str) -> str:
    return f"{plain(job)}.{_hash(identity)}"


def is_directory_name(name: str) -> bool:
    return _DIRECTORY(name) is not None


def may_be_directory_of(name: str, job: str) -> bool:
    """Whether the directory of a job (a name, or <file>:<name>) may have this name."""
    return is_directory_name(name) and name[: -_HASH_DIGITS - 1] == plain(job.rpartition(":")[2])


def hash_in(name: str) -> str:
    """The beginning of the hash of an identity, in the name of a directory."""
    return name[-_HASH_DIGITS:]


def is_identity_of(identity: str, job: str) -> bool:
    """Whether a job (a name, or <file>:<name>) has this identity, on whatever node."""
    if ":" in job:
        return identity == job or identity.endswith(f"/{job}")
    return identity.endswith(f":{job}")


def plain(job: str) -> str:
    """A job's name as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", job[:_LONGEST]).lstrip(".") or "-"


def _hash(identity: str) -> str:
    return hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:_HASH_DIGITS]
