"""The cluster that a command line names, and requests to it.

asyncio and aiohttp are loaded with the first request, so that commands without a cluster stay fast.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Coroutine

from kron.console.parser import UsageError, path, whole_seconds
from kron.core.errors import Code, KronError, quoted
from kron.kube.client.errors import NOT_FOUND, ApiError, is_gone
from kron.kube.extra import check_extra
from kron.kube.namespace import namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace, _ActionsContainer
    from typing import Any, TypeVar

    from kron.kube.client.access import Access
    from kron.kube.client.client import Client

    Answer = TypeVar("Answer")

DEFAULT_NAMESPACE = "default"


def add_cluster(parser: _ActionsContainer, *, all_namespaces: bool = False) -> None:
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig",
        type=path,
        metavar="PATH",
        help="default: KUBECONFIG, the Pod's service account, or ~/.kube/config",
    )
    group.add_argument("--context", metavar="CONTEXT", help="a context of the kubeconfig")
    group.add_argument("--cluster", metavar="CLUSTER", help="its cluster, instead of the context's")
    group.add_argument("--user", metavar="USER", help="its user, instead of the context's")
    add_namespace(group, "the namespace; default: that of the context")
    group.add_argument(
        "--as",
        dest="as_user",
        type=_impersonated,
        metavar="NAME",
        help="act as this user, if you may impersonate",
    )
    group.add_argument(
        "--as-group",
        type=_impersonated,
        action="append",
        default=[],
        metavar="GROUP",
        help="act as a member of this group; needs --as; repeatable",
    )
    group.add_argument(
        "--request-timeout",
        type=_request_timeout,
        metavar="DURATION",
        help="how long a request may take: 30s, 1m, a number of seconds, or 0 for any time; "
        "default: 10s, and 60s for a list",
    )
    if all_namespaces:
        group.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")


def _impersonated(text: str) -> str:
    """A name that fits into a header, where an empty one would mean oneself."""
    if text and text.isprintable() and text == text.strip():
        return text
    raise ArgumentTypeError(f"{quoted(text)} is not the name of a user or a group")


def _request_timeout(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return int(text)
    return whole_seconds(text)


def add_namespace(parser: _ActionsContainer, what: str) -> None:
    parser.add_argument("-n", "--namespace", type=_namespace, metavar="NS", help=what)


def _namespace(text: str) -> str:
    """Empty means the namespace of the context, as for kubectl."""
    return text and namespace(text)


def check_source(arguments: Namespace) -> None:
    """Refuse options without an effect: those of a cluster beside files, -A beside names."""
    given = {
        "--kubeconfig": arguments.kubeconfig is not None,
        "--context": arguments.context is not None,
        "--cluster": arguments.cluster is not None,
        "--user": arguments.user is not None,
        "--as": arguments.as_user is not None,
        "--as-group": bool(arguments.as_group),
        "--request-timeout": arguments.request_timeout is not None,
        "-A": getattr(arguments, "all_namespaces", False),
        "-l": bool(getattr(arguments, "selector", "")),
        "--watch": getattr(arguments, "watch", False),
    }
    options = [option for option, is_given in given.items() if is_given]
    if options and (getattr(arguments, "file", None) or getattr(arguments, "paths", None)):
        message = f"{' and '.join(options)} cannot be used with files, only with the cluster"
        raise UsageError(Code.FILE_KIND, message, fix="leave one of them out")
    if given["-A"] and arguments.namespace is not None:
        message = "-A and -n cannot be used together"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="give one of them")
    if (given["-A"] or given["-l"]) and getattr(arguments, "names", None):
        message = "names cannot be used together with -A or -l"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="write NAMESPACE/NAME, or no names")


def reach(
    arguments: Namespace,
    request: Callable[[Client, str], Coroutine[Any, Any, Answer]],
    *,
    observe_date: Callable[[str, float], None] = lambda *_: None,
) -> Answer:
    """Run `request`, which gets a client and the default namespace, and return its answer."""
    import asyncio

    import kron

    access = access_of(arguments)
    from kron.kube.client.client import Client
    from kron.kube.kronctl.threads import Threads

    async def ask() -> Answer:
        asyncio.get_running_loop().set_default_executor(Threads())
        agent, most_s = f"kronctl/{kron.__version__}", arguments.request_timeout
        async with Client(
            access, user_agent=agent, request_s=most_s, observe_date=observe_date
        ) as client:
            return await request(client, arguments.namespace or access.namespace)

    try:
        return asyncio.run(ask())
    except ApiError as error:
        raise plain(error) from None


def plain(error: ApiError) -> KronError:
    """The same, but for a resource that the cluster lacks: how to install it."""
    if not is_unknown(error):
        return error
    from kron.kube.resource.schema.definition import INSTALL

    message = "the KronJob resource is not installed in the cluster"
    return KronError(Code.CLUSTER, message, fix=INSTALL)


def is_unknown(error: KronError) -> bool:
    """Whether the cluster lacks the resource itself, and not only an object of that name.

    Its answer is a plain page then, without a reason.
    """
    return isinstance(error, ApiError) and error.status == NOT_FOUND and not is_gone(error)


def access_of(arguments: Namespace) -> Access:
    check_extra()
    from kron.kube.client.access import find_access

    access = find_access(
        arguments.kubeconfig, arguments.context, cluster=arguments.cluster, user=arguments.user
    )
    if arguments.as_user is not None:
        return access.as_user(arguments.as_user, arguments.as_group)
    if arguments.as_group:
        raise UsageError(Code.FIELD_MISSING, "--as-group needs --as", fix="add --as USER")
    return access
