"""The jobs that a command line names: loads and checks files, and finds one job in them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kron.answers.bounds import bounds_of
from kron.answers.subject import Subject
from kron.console.parser import UsageError, add_insecure_config, add_node_id, path
from kron.console.progress import Progress
from kron.console.terminal import Terminal, standard_input
from kron.core.errors import Code, KronError, quoted
from kron.core.schedule import Schedule
from kron.jobs.configuration import Configuration, default_paths, load
from kron.jobs.document import read_document
from kron.jobs.entry import Entry, read_schedule
from kron.jobs.identity import find_node
from kron.jobs.source import STANDARD_INPUT, own_access


def add_source(parser: ArgumentParser, *, identity: bool = False) -> None:
    group = parser.add_argument_group("where jobs come from")
    group.add_argument(
        "--file",
        type=path,
        action="append",
        default=[],
        metavar="PATH",
        help="a krontab file, a directory of *.kron files, or - for standard input; repeatable; "
        "default: /etc/krond.d and ~/.config/krond",
    )
    add_insecure_config(group, "krond refuses these without the same option")
    add_node_id(group, "the host's part of identities, as for krond")
    if identity:
        group.add_argument(
            "--identity", metavar="TEXT", help="use this identity instead of the job's"
        )
        group.add_argument(
            "--schedule",
            metavar="TEXT",
            help="a schedule instead of a job of a file; needs --identity",
        )


def load_configuration(arguments: Namespace, terminal: Terminal) -> Configuration:
    """The files that the command line names, or the default ones, with their errors."""
    node = find_node(arguments.node_id)
    access = own_access(insecure=arguments.allow_insecure_config)
    paths = arguments.file or default_paths()
    with Progress(terminal, "reading lines") as progress:
        files = [path for path in paths if path != STANDARD_INPUT]
        configuration = load(files, access, node=node, progress=progress.advance)
        if len(files) == len(paths):
            return configuration
        document = read_document(standard_input(), STANDARD_INPUT, node=node)
        return configuration.replace(documents=(*configuration.documents, document))


def find_subject(arguments: Namespace, terminal: Terminal) -> Subject:
    """The job that the command line names, or the schedule that it gives."""
    identity = arguments.identity
    if identity is not None and not (identity and identity.isprintable()):
        message = f"{quoted(identity)} is not an identity: it is empty or holds a control character"
        raise KronError(Code.IDENTITY, message)
    if arguments.schedule is not None:
        if arguments.job is not None:
            message = "a job and --schedule exclude each other"
            raise UsageError(Code.JOB_UNKNOWN, message, fix="give one of them")
        if identity is None:
            message = "--schedule needs --identity: the chosen times depend on it"
            raise UsageError(Code.IDENTITY, message, fix="for example --identity prod/db-backup")
        schedule = read_schedule(arguments.schedule, identity)
        return Subject("-", identity, arguments.schedule, schedule, origin="--schedule")
    if arguments.job is None:
        raise UsageError(Code.JOB_UNKNOWN, "no job is named", fix="krontab list shows all jobs")
    configuration = load_configuration(arguments, terminal).checked()
    entry = configuration.entry(arguments.job)
    identity = entry.identity if identity is None else identity
    schedule = schedule_as(identity, entry)
    where = (entry.path, entry.line)
    sizes = configuration.slots
    return Subject(
        *(entry.name, identity, entry.schedule_text, schedule, *where),
        defaults=entry.defaults,
        slots=tuple((name, sizes[name]) for name in entry.task.slots),
        hooks=entry.task.hooks,
        bounds=bounds_of(entry),
    )


def schedule_as(identity: str, entry: Entry) -> Schedule:
    """The schedule that a job would have with this identity: fuzzy times depend on it."""
    same = identity == entry.identity
    return entry.schedule if same else read_schedule(entry.schedule_text, identity)
