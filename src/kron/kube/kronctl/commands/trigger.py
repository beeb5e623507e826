"""`kronctl trigger`: start a run of a KronJob now, outside any period."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, UsageError, add_format
from kron.console.progress import Progress
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError, quoted
from kron.kube.api_object import Object
from kron.kube.client.errors import CONFLICT, LONGEST_RETRY_S, MALFORMED, ApiError, malformed
from kron.kube.client.resources import JOBS, KRONJOBS
from kron.kube.kronctl.cluster import add_cluster, reach
from kron.kube.kronctl.lookup import find, get
from kron.kube.kronctl.manual_job import manual_job, new_name, variables
from kron.kube.kronctl.name import Name, name_of
from kron.kube.kronctl.output import add_output, check_output, print_object
from kron.kube.resource.kronjob import KronJob, read_kronjob
from kron.kube.resource.run import read_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.client.client import Client

DESCRIPTION = """\
Create a Job of a KronJob now. It belongs to no period: the next run does not move, and the Job is
created even if others are active or the KronJob is suspended. The Job is called
<kronjob>-manual-<a few letters>, or as --name says, and is deleted with the KronJob.

While it is active, it counts: a period that comes due is skipped if policy.concurrency is forbid,
which is the default, and deletes it if that is replace.

--env sets a variable in all containers of this Job, also the init containers, and replaces a
variable of the same name. Neither the KronJob nor its next runs change. The values are in the Job,
where everybody who may read it sees them.

With --dry-run=client, nothing is sent to the API server but the question for the KronJob; with
--dry-run=server, it checks the Job as if it were created. -o yaml prints the Job in either case.

With --wait, the exit code is 0 if the Job completes and 1 if it fails or is deleted. If the cluster
gives no answer for a minute, the exit code is 2, and the Job goes on. It also goes on after Ctrl-C,
which ends the waiting only."""
EXAMPLES = (
    ("kronctl trigger prod/backup", "start it, and print the name of its Job"),
    ("kronctl trigger backup -n prod --wait && echo done", "wait for its end"),
    ("kronctl trigger backup --env LEVEL=full --name backup-full", "with a variable, under a name"),
    ("kronctl trigger backup --dry-run=server -o yaml", "what would be created?"),
)
_SAID = {
    None: "follow it with: kubectl logs -n {job.namespace} -f job/{job.name}",
    "complete": "job {job.name} is complete",
    "failed": "job {job.name} failed: kubectl logs -n {job.namespace} job/{job.name}",
    "deleted": "job {job.name} was deleted before it ended",
}
"""What is printed about a Job, by how it has ended; None if nobody waits for that."""
_DRY = {
    "client": "nothing was created, and the API server was not asked (--dry-run=client)",
    "server": "nothing was created; the API server would accept it (--dry-run=server)",
}
_TRIES = 10
_LOOK_S = 0.5
_PATIENCE_S = 60.0
"""How long --wait bears that the cluster gives no answer."""
_EXISTS = "AlreadyExists"


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", help="a KronJob: NAME, NAMESPACE/NAME or kj/NAME")
    parser.add_argument("--name", metavar="NAME", help="the name of the Job")
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a variable in all containers of the Job; repeatable",
    )
    parser.add_argument(
        "--dry-run",
        choices=("none", "client", "server"),
        default="none",
        help="create nothing: print the Job, or let the API server check it; default: none",
    )
    parser.add_argument("--wait", action="store_true", help="wait until the Job has ended")
    add_output(parser, "name", "yaml", "json")
    add_format(parser)
    add_cluster(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    check_output(arguments)
    name = name_of(arguments.job)
    job_name = None if arguments.name is None else new_name(arguments.name)
    environment = variables(arguments.env)
    is_dry = arguments.dry_run != "none"
    if is_dry and arguments.wait:
        message = "--wait waits for a Job, and --dry-run creates none"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="leave one of them out")

    async def trigger(client: Client, default: str) -> int:
        import asyncio

        namespace = name.namespace or default
        kronjob = read_kronjob(await get(client, KRONJOBS, namespace, name.name))
        job = await _made(client, kronjob, job_name, environment, arguments.dry_run)
        made = Name(namespace, job["metadata"]["name"])
        is_text = arguments.format == "text"
        if arguments.output:
            print_object(job, arguments.output, JOBS, "Job", terminal)
        elif is_text:
            terminal.print(f"job {made.name}")
        terminal.output.flush()
        outcome, failure = None, None
        if arguments.wait:
            try:
                outcome = await _outcome(client, made, job["metadata"].get("uid"), terminal)
            except ApiError as error:  # the Job goes on, so say first which one it is
                failure = error
            except asyncio.CancelledError:  # Ctrl-C
                terminal.error(f"job {made.name} goes on; {_SAID[None].format(job=made)}")
                raise
        if is_text:
            terminal.error(_DRY[arguments.dry_run] if is_dry else _SAID[outcome].format(job=made))
        else:
            place = {"namespace": made.namespace, "name": name.name, "job": made.name}
            ended = {"outcome": outcome, "dry_run": arguments.dry_run}
            terminal.print_json({"schema": "kronctl.trigger/1", **place, **ended})
        if failure is not None:
            raise failure
        return int(outcome not in (None, "complete"))

    return reach(arguments, trigger)


async def _made(
    client: Client, kronjob: KronJob, name: str | None, environment: dict[str, str], dry_run: str
) -> Object:
    """The Job that was created, or that would be."""
    for left in reversed(range(_TRIES)):
        manifest = manual_job(kronjob, name, environment)
        if dry_run == "client":
            return manifest
        made = Name(kronjob.namespace, manifest["metadata"]["name"])
        try:
            if dry_run == "server":
                job = await client.dry_run(JOBS, made.namespace, manifest, is_brief=False)
            else:
                job = await client.create(JOBS, made.namespace, manifest)
            run = read_run(job)
            if (run.namespace, run.name) != (made.namespace, made.name):
                what = "create jobs" if dry_run == "none" else "dry-run jobs"
                raise malformed(what, f"the answer is not {made.text}", is_sent=True)
            return job
        except ApiError as error:
            if error.may_have_happened and dry_run == "none":
                fix = f"check whether the job {made.name} exists before you trigger again"
                raise KronError(Code.API, error.message, fix) from None
            if error.reason == _EXISTS and name is not None:
                message = f"a Job {quoted(made.text)} exists already"
                raise KronError(Code.NAME_REPEATED, message, "give another --name") from None
            # A name of a few letters may be taken. Other conflicts pass: that of a quota, say.
            if error.status != CONFLICT or not left:
                raise
    raise AssertionError("the last try returns or raises")


async def _outcome(client: Client, name: Name, uid: str | None, terminal: Terminal) -> str:
    """How the Job ended; `ApiError` if the cluster gives no answer for a minute, or refuses one."""
    import asyncio

    with Progress(terminal, f"waiting for {name.name}, seconds:") as progress:
        loop = asyncio.get_running_loop()
        began_s = answered_s = loop.time()
        while True:
            wait_s = _LOOK_S
            try:
                job = await find(client, JOBS, name.namespace, name.name)
                answered_s = loop.time()
            except ApiError as error:
                if not _may_pass(error) or loop.time() - answered_s >= _PATIENCE_S:
                    raise
                wait_s = max(wait_s, min(error.retry_after_s or 0.0, LONGEST_RETRY_S))
            else:
                if job is None or (uid and job["metadata"]["uid"] != uid):
                    return "deleted"
                ended = read_run(job)
                if ended.is_finished:
                    return "failed" if ended.is_failed else "complete"
            progress.reach(int(loop.time() - began_s))
            await asyncio.sleep(wait_s)


def _may_pass(error: ApiError) -> bool:
    """Whether the next try may succeed: no answer, too many requests, or a server in trouble."""
    is_unanswered = error.status == 0 and error.reason != MALFORMED
    return is_unanswered or error.status == 429 or error.status >= 500
