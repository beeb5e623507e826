"""Reading the configuration: what krond says about it, besides its errors."""

from __future__ import annotations

from kron.jobs.configuration import Configuration
from kron.logs.event import Event, Level
from kron.logs.journal import Journal

NOTHING_READ = "there is no file to read, so nothing will run; name files with krond start --config"
NO_JOBS = "the configuration has no job, so nothing will run"


def log_read(journal: Journal, configuration: Configuration) -> None:
    """Log what was left out, and what is doubtful."""
    if nothing := why_nothing_runs(configuration):
        journal.error("read the configuration", nothing, level=Level.WARN)
    for warning in configuration.warnings:
        journal.error("read the configuration", warning.head, level=Level.WARN)
    for path in configuration.ignored:
        journal.event(Event.CONFIG_IGNORED, file=path, reason="it is no configuration file")


def why_nothing_runs(configuration: Configuration) -> str:
    """For people; '' if the configuration has a job."""
    if next(configuration.entries, None) is not None:
        return ""
    return NO_JOBS if configuration.documents else NOTHING_READ
