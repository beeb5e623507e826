"""Reading the configuration: the jobs of the sources that the settings name, and what is logged."""

from __future__ import annotations

import os

from kron.jobs.configuration import SYSTEM_DIRECTORY, Configuration, default_paths, load
from kron.krond.settings import JobSource, KrondSettings
from kron.logs.event import Event, Level
from kron.logs.journal import Journal

NOTHING_READ = "there is no file to read, so nothing will run; name files with krond start --config"
NO_JOBS = "the configuration has no job, so nothing will run"


def read_configuration(settings: KrondSettings) -> Configuration:
    """All jobs of the configured sources, with the errors of their files."""
    read = Configuration(())
    if JobSource.KRONTAB in settings.sources:
        is_root = os.geteuid() == 0  # the system's directory is for root only
        default = [path for path in default_paths() if is_root or path != SYSTEM_DIRECTORY]
        read = load(settings.config or default, settings.access, node=settings.node)
    if JobSource.CRON not in settings.sources:
        return read
    from kron.jobs.crontab.host import load_host

    crontabs = load_host(settings.access, node=settings.node)
    return Configuration(
        (*read.documents, *crontabs.documents),
        (*read.failures, *crontabs.failures),
        (*read.ignored, *crontabs.ignored),
        crontabs.warnings,
    )


def why_nothing_runs(configuration: Configuration) -> str:
    """For people; '' if the configuration has a job."""
    if next(configuration.entries, None) is not None:
        return ""
    return NO_JOBS if configuration.documents else NOTHING_READ


def log_read(journal: Journal, configuration: Configuration) -> None:
    """Log what is worth knowing about a configuration that is right."""
    if nothing := why_nothing_runs(configuration):
        journal.error("read the configuration", nothing, level=Level.WARN)
    for warning in configuration.warnings:
        journal.error("read the configuration", warning.head, level=Level.WARN)
    for path in configuration.ignored:
        journal.event(Event.CONFIG_IGNORED, file=path, reason="it is no configuration file")
