"""The cluster that a command line names, and requests to it.

asyncio and aiohttp are loaded with the first request, so that commands without a cluster stay fast.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence

from kron.console.parser import UsageError, path
from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.kube.api_object import Object, member, text
from kron.kube.client.errors import NOT_FOUND, ApiError, is_gone, malformed
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
_STORED = ("name", "namespace", "uid", "resourceVersion")
"""What every object has in its metadata, in the resources that kronctl asks for."""


class Name(Frozen):
    """A KronJob as the command line names it; '' is the default namespace of the cluster."""

    namespace: str
    name: str

    @property
    def text(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def add_cluster(parser: _ActionsContainer, *, all_namespaces: bool = False) -> None:
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
    parser.add_argument("-n", "--namespace", metavar="NS", help=what)


def name_of(text: str) -> Name:
    """NAME or NAMESPACE/NAME."""
    namespace, slash, name = text.rpartition("/")
    if name and (namespace or not slash) and "/" not in namespace:
        return Name(namespace, name)
    message = f"{quoted(text)} is not the name of a KronJob"
    raise UsageError(Code.JOB_UNKNOWN, message, fix="write NAME or NAMESPACE/NAME")


def check_source(arguments: Namespace) -> None:
    """Refuse options without an effect: those of a cluster beside files, -A beside names."""
    given = {
        "--kubeconfig": arguments.kubeconfig is not None,
        "--context": arguments.context is not None,
        "-A": getattr(arguments, "all_namespaces", False),
        "-l": bool(getattr(arguments, "selector", "")),
    }
    options = [option for option, is_given in given.items() if is_given]
    if options and (arguments.file or getattr(arguments, "paths", None)):
        message = f"{' and '.join(options)} cannot be used with files, only with the cluster"
        raise UsageError(Code.FILE_KIND, message, fix="leave one of them out")
    if given["-A"] and arguments.namespace is not None:
        message = "-A and -n cannot be used together"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="give one of them")
    if (given["-A"] or given["-l"]) and getattr(arguments, "names", None):
        message = "names cannot be used together with -A or -l"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="write NAMESPACE/NAME, or no names")


def reach(
    arguments: Namespace, request: Callable[[Client, str], Coroutine[Any, Any, Answer]]
) -> Answer:
    """Run `request`, which gets a client and the default namespace, and return its answer."""
    import asyncio

    import kron

    access = access_of(arguments)
    from kron.kube.client.client import Client

    async def ask() -> Answer:
        async with Client(access, user_agent=f"kronctl/{kron.__version__}") as client:
            return await request(client, arguments.namespace or access.namespace)

    try:
        return asyncio.run(ask())
    except ApiError as error:
        if is_unknown(error):
            message = "the KronJob resource is not installed in the cluster"
            fix = "kron-operator crd | kubectl apply -f -"
            raise KronError(Code.CLUSTER, message, fix) from None
        raise


def is_unknown(error: KronError) -> bool:
    """Whether the cluster lacks the resource itself, and not only an object of that name.

    Its answer is a plain page then, without a reason.
    """
    return isinstance(error, ApiError) and error.status == NOT_FOUND and not is_gone(error)


def access_of(arguments: Namespace) -> Access:
    check_extra()
    from kron.kube.client.access import find_access

    return find_access(arguments.kubeconfig, arguments.context)


def find_all(arguments: Namespace, resource: Resource) -> list[Object]:
    """The objects with the labels of -l: of one namespace, or of all with -A."""

    async def ask(client: Client, namespace: str) -> list[Object]:
        within = None if arguments.all_namespaces else namespace
        pages = client.pages(resource, within, selector=arguments.selector)
        return [_stored(resource, "list", item) async for items, _ in pages for item in items]

    return reach(arguments, ask)


def get_all(arguments: Namespace, resource: Resource, names: Sequence[Name]) -> list[Object]:
    """The objects of these names; `ApiError` if one does not exist."""

    async def ask(client: Client, namespace: str) -> list[Object]:
        return [
            await get(client, resource, name.namespace or namespace, name.name) for name in names
        ]

    return reach(arguments, ask)


async def get(client: Client, resource: Resource, namespace: str, name: str) -> Object:
    """The object of that name; `ApiError` if it does not exist, or the answer is anything else."""
    content = _stored(resource, "get", await client.get(resource, namespace, name))
    metadata = content["metadata"]
    if (metadata["namespace"], metadata["name"]) != (namespace, name):
        raise malformed(f"get {resource.plural}", f"the answer is not {namespace}/{name}")
    return content


async def find(client: Client, resource: Resource, namespace: str, name: str) -> Object | None:
    """An object, or None if no object has that name."""
    try:
        return await get(client, resource, namespace, name)
    except ApiError as error:
        if is_gone(error):
            return None
        raise


def _stored(resource: Resource, verb: str, content: object) -> Object:
    """An object with the metadata that all stored ones have; `ApiError` if it is anything else."""
    metadata = member(content, "metadata")
    wrong = [
        name for name in _STORED if not (said := text(metadata, name)) or not said.isprintable()
    ]
    if wrong:
        why = f"the answer has an object without a valid metadata.{wrong[0]}"
        raise malformed(f"{verb} {resource.plural}", why)
    assert isinstance(content, dict)  # it has metadata
    return content
