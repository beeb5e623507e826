"""`kronctl trigger`: start a run of a KronJob now, outside any period."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_format
from kron.console.progress import Progress
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.kube.client.errors import CONFLICT, ApiError, malformed
from kron.kube.client.resources import JOBS, KRONJOBS
from kron.kube.kronctl.cluster import Name, add_cluster, find, get, name_of, reach
from kron.kube.resource.kronjob import read_kronjob
from kron.kube.resource.run import manual_manifest, read_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.client.client import Client

DESCRIPTION = """\
Create a Job of a KronJob now. It belongs to no period: the next run does not move, and the Job is
created even if others are active or the KronJob is suspended. The Job is called
<kronjob>-manual-<a few letters>, and is deleted with the KronJob.

While it is active, it counts: a period that comes due is skipped if policy.concurrency is forbid,
which is the default, and deletes it if that is replace.

With --wait, the exit code is 0 if the Job completes and 1 if it fails or is deleted."""
EXAMPLES = (
    ("kronctl trigger prod/backup", "start it, and print the name of its Job"),
    ("kronctl trigger backup -n prod --wait && echo done", "wait for its end"),
)
_SAID = {
    None: "follow it with: kubectl logs -n {job.namespace} -f job/{job.name}",
    "complete": "job {job.name} is complete",
    "failed": "job {job.name} failed: kubectl logs -n {job.namespace} job/{job.name}",
    "deleted": "job {job.name} was deleted before it ended",
}
"""What is printed about a Job, by how it has ended; None if nobody waits for that."""
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels, so that they form no words, and without letters that are easily misread."""
_MOST_LETTERS = 6
_TRIES = 10
_LOOK_S = 0.5


def add_arguments(parser: Parser) -> None:
    parser.add_argument("name", metavar="JOB", help="a KronJob's name, or NAMESPACE/NAME")
    parser.add_argument("--wait", action="store_true", help="wait until the Job has ended")
    add_format(parser)
    add_cluster(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    name = name_of(arguments.name)

    async def trigger(client: Client, default: str) -> int:
        made = await _make(client, Name(name.namespace or default, name.name))
        is_text = arguments.format == "text"
        if is_text:
            terminal.print(f"job {made.name}")
        outcome = await _outcome(client, made, terminal) if arguments.wait else None
        if is_text:
            terminal.error(_SAID[outcome].format(job=made))
        else:
            place = {"namespace": made.namespace, "name": name.name, "job": made.name}
            terminal.print_json({"schema": "kronctl.trigger/1", **place, "outcome": outcome})
        return int(outcome not in (None, "complete"))

    return reach(arguments, trigger)


async def _make(client: Client, name: Name) -> Name:
    """The name of the Job that was created."""
    import secrets

    kronjob = read_kronjob(await get(client, KRONJOBS, name.namespace, name.name))
    for left in reversed(range(_TRIES)):
        letters = "".join(secrets.choice(_LETTERS) for _ in range(_MOST_LETTERS))
        manifest = manual_manifest(kronjob, f"manual-{letters}")
        made = Name(name.namespace, manifest["metadata"]["name"])
        try:
            run = read_run(await client.create(JOBS, name.namespace, manifest))
            if (run.namespace, run.name) != (made.namespace, made.name):
                raise malformed("create jobs", f"the answer is not {made.text}", is_sent=True)
            return made
        except ApiError as error:
            if error.may_have_happened:
                fix = f"check whether the job {made.name} exists before you trigger again"
                raise KronError(Code.API, error.message, fix) from None
            if error.status != CONFLICT or not left:  # a name of a few letters may be taken
                raise
    raise AssertionError("the last try returns or raises")


async def _outcome(client: Client, name: Name, terminal: Terminal) -> str:
    import asyncio

    with Progress(terminal, f"waiting for {name.name}, seconds:") as progress:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while True:
            job = await find(client, JOBS, name.namespace, name.name)
            if job is None:
                return "deleted"
            ended = read_run(job)
            if ended.is_finished:
                return "failed" if ended.is_failed else "complete"
            progress.reach(int(loop.time() - began_s))
            await asyncio.sleep(_LOOK_S)
