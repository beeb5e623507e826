"""Keys of labels and annotations that are Kron's own in Jobs and Pods.

The operator leaves those of a template out, since they say of a Job which period it is of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kron.core.errors import quoted
from kron.kube.api_object import Object, member
from kron.kube.resource.schema.definition import GROUP
from kron.kube.resource.schema.validate import FieldProblem

RESERVED = f"{GROUP}/"
_MAPS = ("labels", "annotations")
_PLACES = (("jobTemplate",), ("jobTemplate", "spec", "template"))


def reserved_keys(spec: Mapping[str, object]) -> Iterator[FieldProblem]:
    """The labels and annotations of a spec's template that its Jobs and Pods will not have."""
    for place in _PLACES:
        found: object = spec
        for name in place:
            found = member(found, name)
        metadata = member(found, "metadata")
        for name in _MAPS:
            for key in filter(_is_reserved, member(metadata, name)):
                path = f"{'.'.join(('spec', *place))}.metadata.{name}[{quoted(key)}]"
                message = f"it is left out of Jobs: what begins with {RESERVED} is Kron's own"
                yield FieldProblem(path, message, "use a prefix of your own")


def without_reserved(metadata: Object) -> Object:
    """The same metadata without these keys, and without a map that had no others."""
    kept = {
        name: {key: value for key, value in member(metadata, name).items() if not _is_reserved(key)}
        for name in _MAPS
        if any(map(_is_reserved, member(metadata, name)))
    }
    return {name: value for name, value in (metadata | kept).items() if value or name not in kept}


def _is_reserved(key: object) -> bool:
    return isinstance(key, str) and key.startswith(RESERVED)
