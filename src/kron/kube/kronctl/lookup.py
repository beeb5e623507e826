"""Looking up objects of the cluster: by name, or all of a namespace.

What does not exist is an error that says so in plain words and names what is near, instead of the
server's own 404.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.kube.api_object import Object, member, text
from kron.kube.client.errors import ApiError, is_gone, malformed
from kron.kube.client.resources import NAMESPACES, Resource
from kron.kube.kronctl.cluster import reach
from kron.kube.kronctl.name import KINDS, Name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from kron.kube.client.client import Client

_STORED = ("name", "namespace", "uid", "resourceVersion")
"""What every object has in its metadata, in the resources that kronctl asks for."""


class AbsentError(KronError):
    """An object that does not exist, or its namespace."""

    def __init__(self, kind: str, name: str, near: str) -> None:
        super().__init__(Code.JOB_UNKNOWN, f"the {kind} {quoted(name)} does not exist", near)
        self.brief = f"this {kind} does not exist{near and f' ({near})'}"
        """For a line that begins with the name."""


def find_all(arguments: Namespace, resource: Resource) -> list[Object]:
    """The objects with the labels of -l: of one namespace, or of all with -A."""

    async def ask(client: Client, namespace: str) -> list[Object]:
        within = None if getattr(arguments, "all_namespaces", False) else namespace
        return await all_within(client, resource, within, arguments.selector)

    return reach(arguments, ask)


async def all_within(
    client: Client, resource: Resource, within: str | None, selector: str = ""
) -> list[Object]:
    """The objects of a namespace, or (None) of all; `AbsentError` if it does not exist."""
    pages = client.pages(resource, within, selector=selector)
    found = [stored(resource, "list", item) async for items, _ in pages for item in items]
    if not found and within is not None:
        await check_namespace(client, within)
    return found


async def check_namespace(client: Client, namespace: str) -> None:
    """`AbsentError` if the namespace certainly does not exist.

    The server lists an unknown namespace as an empty one. Who may not read namespaces learns no
    more than that.
    """
    try:
        await client.get(NAMESPACES, None, namespace)
    except ApiError as error:
        if is_gone(error):
            near = did_you_mean(
                namespace, [name async for name in names_within(client, NAMESPACES)]
            )
            raise AbsentError("namespace", namespace, near) from None


async def names_within(
    client: Client, resource: Resource, within: str | None = None
) -> AsyncIterator[str]:
    """The names of objects, for guesses: of the first page, and none if they may not be listed."""
    try:
        async for items, _ in client.pages(resource, within, is_brief=True):
            for item in items:
                name = text(member(item, "metadata"), "name")
                if name and name.isprintable():
                    yield name
            return
    except ApiError:
        return


def get_all(arguments: Namespace, resource: Resource, names: Sequence[Name]) -> list[Object]:
    """The objects of these names; `AbsentError` if one does not exist."""

    async def ask(client: Client, namespace: str) -> list[Object]:
        return [
            await get(client, resource, name.namespace or namespace, name.name) for name in names
        ]

    return reach(arguments, ask)


async def get(client: Client, resource: Resource, namespace: str, name: str) -> Object:
    """The object of that name; `AbsentError` if it does not exist."""
    found = await find(client, resource, namespace, name)
    if found is not None:
        return found
    await check_namespace(client, namespace)
    known = [each async for each in names_within(client, resource, namespace)]
    raise AbsentError(KINDS[resource], f"{namespace}/{name}", did_you_mean(name, known))


async def find(client: Client, resource: Resource, namespace: str, name: str) -> Object | None:
    """An object, or None if no object has that name; `ApiError` if the answer is anything else."""
    try:
        content = stored(resource, "get", await client.get(resource, namespace, name))
    except ApiError as error:
        if is_gone(error):
            return None
        raise
    metadata = content["metadata"]
    if (metadata["namespace"], metadata["name"]) != (namespace, name):
        raise malformed(f"get {resource.plural}", f"the answer is not {namespace}/{name}")
    return content


def stored(resource: Resource, verb: str, content: object) -> Object:
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
