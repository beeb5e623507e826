"""The kinds of object that Kron reads and writes, and their paths on the API server."""

from __future__ import annotations

from kron.core.frozen import Frozen


class Resource(Frozen):
    """A kind of object: its group ('' for the core group), version and plural name."""

    group: str
    version: str
    plural: str
    is_urgent: bool = False
    """Whether its requests overtake others: a lease must be renewed in the middle of a burst."""

    def path(self, namespace: str | None, name: str = "", subresource: str = "") -> str:
        """The path of an object, or of the collection if `name` is ''; None: of all namespaces."""
        path = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace is not None:
            path = f"{path}/namespaces/{_segment(namespace)}"
        path = f"{path}/{self.plural}"
        if name:
            path = f"{path}/{_segment(name)}"
        return f"{path}/{subresource}" if subresource else path


def _segment(name: str) -> str:
    """A name as one segment of a path. A valid name needs no escapes; a hostile one gets them."""
    if name.isascii() and name.replace("-", "").isalnum():
        return name
    return name.replace(".", "%2E") if name in (".", "..") else escaped(name)


def escaped(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="", errors="surrogatepass")


KRONJOBS = Resource("kron.io", "v1alpha1", "kronjobs")
JOBS = Resource("batch", "v1", "jobs")
CRONJOBS = Resource("batch", "v1", "cronjobs")
LEASES = Resource("coordination.k8s.io", "v1", "leases", is_urgent=True)
EVENTS = Resource("", "v1", "events")
NAMESPACES = Resource("", "v1", "namespaces")
PODS = Resource("", "v1", "pods")
