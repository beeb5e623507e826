"""A handover: what a leader that ends well leaves for the next one, in the Lease.

It says up to which version of KronJobs and Jobs the leader knew and wrote. A replica whose watches
have shown it all up to there knows as much as the leader did, and has nothing to read.
"""

from __future__ import annotations

from collections.abc import Sequence

from kron.kube.api_object import Object, member, text
from kron.kube.client.reflector import Reflector, is_newer
from kron.kube.client.resources import Resource

_ALL = "*"
"""Stands for all namespaces."""


class Handover:
    def __init__(self, reflectors: Sequence[Reflector]) -> None:
        self._reflectors = reflectors
        self._written: dict[tuple[str, str], str] = {}
        """The last version that was written, by kind and namespace."""

    def wrote(self, resource: Resource, namespace: str, version: str) -> None:
        key = resource.plural, namespace
        if version and is_newer(version, self._written.get(key, "")):
            self._written[key] = version

    def mark(self) -> Object:
        """What is left for the next leader."""
        found: Object = {}
        for reflector in self._reflectors:
            versions = [reflector.newest] + [
                version
                for (plural, namespace), version in self._written.items()
                if plural == reflector.resource.plural and reflector.namespace in (None, namespace)
            ]
            newest = ""
            for version in versions:
                if version and (not newest or is_newer(version, newest)):
                    newest = version
            found.setdefault(reflector.resource.plural, {})[reflector.namespace or _ALL] = newest
        return found

    def is_reached(self, mark: Object, namespace: str | None) -> bool:
        """Whether our watches of a namespace have shown everything that the last leader knew."""
        for reflector in self._reflectors:
            if reflector.namespace != namespace:
                continue
            versions = member(mark, reflector.resource.plural)
            key = reflector.namespace or _ALL
            if key not in versions:
                return False  # the last leader looked elsewhere
            version = text(versions, key)
            if version and not reflector.has_reached(version):
                return False
        return True
