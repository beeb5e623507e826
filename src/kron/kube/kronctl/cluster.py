"""The cluster that a command line means, and questions to it.

asyncio and aiohttp are loaded when a question is asked, so that what needs no cluster stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine

from kron.console.parser import path
from kron.console.usage import UsageError
from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.kube.extra import check_extra

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace, _ActionsContainer
    from typing import Any, TypeVar

    from kron.kube.client.access import Access
    from kron.kube.client.client import Client
    from kron.kube.client.resources import Resource

    Answer = TypeVar("Answer")

DEFAULT_NAMESPACE = "default"
NOT_FOUND = 404
CONFLICT = 409


class Name(Frozen):
    """A KronJob as the command line names it; namespace '' is the one that applies."""

    namespace: str
    name: str

    @property
    def text(self) -> str:
        """As it was written."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def add_cluster(parser: _ActionsContainer, *, all_namespaces: bool = False) -> None:
    """Which cluster, and which namespaces of it."""
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig",
        type=path,
        metavar="PATH",
        help="default: KUBECONFIG, the Pod's service account, or ~/.kube/config",
    )
    group.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")
    add_namespace(group, "the namespace; default: that of the context")
    if all_namespaces:
        group.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")


def add_namespace(parser: _ActionsContainer, what: str) -> None:
    """`-n`."""
    parser.add_argument("-n", "--namespace", metavar="NS", help=what)


def name_of(text: str) -> Name:
    """NAME or NAMESPACE/NAME."""
    namespace, slash, name = text.rpartition("/")
    if name and (namespace or not slash) and "/" not in namespace:
        return Name(namespace, name)
    message = f"{quoted(text)} names no KronJob"
    raise UsageError(Code.JOB_UNKNOWN, message, fix="write NAME or NAMESPACE/NAME")


def check_source(arguments: Namespace) -> None:
    """Refuse options that would be passed over: of a cluster beside files, -A beside names."""
    given = {
        "--kubeconfig": arguments.kubeconfig is not None,
        "--context": arguments.context is not None,
        "-A": getattr(arguments, "all_namespaces", False),
        "-l": bool(getattr(arguments, "selector", "")),
    }
    options = [option for option, is_given in given.items() if is_given]
    if options and (arguments.file or getattr(arguments, "paths", None)):
        message = f"{' and '.join(options)} is for the cluster, and files are named"
        raise UsageError(Code.FILE_KIND, message, fix="leave one of them out")
    if given["-A"] and arguments.namespace is not None:
        message = "-A and -n are two answers to one question"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="give one of them")
    if (given["-A"] or given["-l"]) and getattr(arguments, "names", None):
        message = "names and -A or -l are two answers to one question"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="write NAMESPACE/NAME, or no names")


def reach(
    arguments: Namespace, question: Callable[[Client, str], Coroutine[Any, Any, Answer]]
) -> Answer:
    """The answer to a question, which gets a client and the namespace that applies."""
    import asyncio

    import kron

    access = _access(arguments)
    from kron.kube.client.client import Client
    from kron.kube.client.errors import ApiError

    async def ask() -> Answer:
        async with Client(access, user_agent=f"kronctl/{kron.__version__}") as client:
            return await question(client, arguments.namespace or access.namespace)

    try:
        return asyncio.run(ask())
    except ApiError as error:
        if is_unknown(error):
            message = "the cluster does not know KronJobs"
            fix = "kron-operator crd | kubectl apply -f -"
            raise KronError(Code.CLUSTER, message, fix) from None
        raise


def is_unknown(error: KronError) -> bool:
    """Whether the cluster lacks the resource itself, and not only an object of that name.

    It answers with a page then, without a reason.
    """
    return getattr(error, "status", 0) == NOT_FOUND and not getattr(error, "reason", "")


def context_namespace(arguments: Namespace) -> str:
    """The namespace that the kubeconfig says."""
    return _access(arguments).namespace


def _access(arguments: Namespace) -> Access:
    check_extra()
    from kron.kube.client.access import find_access

    return find_access(arguments.kubeconfig, arguments.context)


async def find_all(
    client: Client, resource: Resource, namespace: str | None, selector: str = ""
) -> list[dict[str, Any]]:
    """All objects of a namespace, or of all of them (None)."""
    found: list[dict[str, Any]] = []
    async for items, _ in client.pages(resource, namespace, selector=selector):
        found += items
    return found


async def find(
    client: Client, resource: Resource, namespace: str, name: str
) -> dict[str, Any] | None:
    """An object, or None if there is none of that name."""
    from kron.kube.client.errors import ApiError

    try:
        return await client.get(resource, namespace, name)
    except ApiError as error:
        if error.status == NOT_FOUND and not is_unknown(error):
            return None
        raise
