"""The CronJobs that a command line asks for: of files (`-f`), or of the cluster."""

from __future__ import annotations

from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.jobs.configuration import ConfigurationError
from kron.kube.kronctl.cluster import Name, find_all, name_of, reach
from kron.kube.kronctl.kronjobs import placed
from kron.kube.kronctl.manifest import Manifest, read_manifests
from kron.kube.kronctl.migration import BATCH, CRONJOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from kron.kube.client.client import Client


def cronjobs_of_files(arguments: Namespace) -> list[dict[str, Any]]:
    """Those of `-f`; a `ConfigurationError` if a file does not read."""
    manifests = read_manifests(arguments.file)
    if manifests.findings:
        raise ConfigurationError(manifests.findings, 0)
    found = [each for each in manifests.objects if each.is_meant_as(CRONJOB, BATCH)]
    namespace = arguments.namespace
    wanted = _named(found, list(map(name_of, arguments.names)), namespace or "")
    return [placed(each.content, namespace) if namespace else each.content for each in wanted]


def _named(found: list[Manifest], names: list[Name], namespace: str) -> list[Manifest]:
    """Those that the names mean, or all if there are none; `namespace` is of those without one."""

    def is_meant(manifest: Manifest, name: Name) -> bool:
        spaces = ("", manifest.namespace or namespace)
        return manifest.name == name.name and name.namespace in spaces

    for name in names:
        if not any(is_meant(each, name) for each in found):
            near = did_you_mean(name.name, [each.name for each in found if each.name != name.name])
            raise KronError(Code.JOB_UNKNOWN, f"there is no CronJob {quoted(name.text)}", near)
    return [each for each in found if not names or any(is_meant(each, name) for name in names)]


def cronjobs_of_cluster(arguments: Namespace) -> list[dict[str, Any]]:
    """Those that are named, or all of a namespace or of the cluster."""
    from kron.kube.client.resources import CRONJOBS

    names = list(map(name_of, arguments.names))

    async def ask(client: Client, namespace: str) -> list[dict[str, Any]]:
        if names:
            return [
                await client.get(CRONJOBS, name.namespace or namespace, name.name) for name in names
            ]
        within = None if arguments.all_namespaces else namespace
        return await find_all(client, CRONJOBS, within, arguments.selector)

    return reach(arguments, ask)
