"""Names of objects on a command line: NAME, NAMESPACE/NAME, or TYPE/NAME as kubectl has it."""

from __future__ import annotations

from kron.console.parser import UsageError
from kron.core.errors import Code, quoted
from kron.core.frozen import Frozen
from kron.kube.client.resources import CRONJOBS, KRONJOBS, Resource
from kron.kube.namespace import NAMESPACE_RULE, is_namespace

KINDS = {KRONJOBS: "KronJob", CRONJOBS: "CronJob"}
_SHORT = {KRONJOBS: "kj", CRONJOBS: "cj"}


class Name(Frozen):
    """An object as the command line names it; '' is the default namespace of the cluster."""

    namespace: str
    name: str

    @property
    def text(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def name_of(text: str, resource: Resource = KRONJOBS) -> Name:
    """The name that a word means. What may be a type is one, whatever namespaces exist."""
    before, slash, name = text.rpartition("/")
    if name and (before or not slash) and "/" not in before:
        if not before or before.lower() in type_words(resource):
            return Name("", name)
        if is_namespace(before):
            return Name(before, name)
        message = f"{quoted(before)} is not the name of a namespace: {NAMESPACE_RULE}"
        fix = f"write NAMESPACE/NAME or {_SHORT[resource]}/NAME"
        raise UsageError(Code.JOB_UNKNOWN, message, fix)
    message = f"{quoted(text)} is not the name of a {KINDS[resource]}"
    raise UsageError(
        Code.JOB_UNKNOWN, message, fix=f"write NAME, NAMESPACE/NAME or {_SHORT[resource]}/NAME"
    )


def type_words(resource: Resource) -> tuple[str, ...]:
    """What stands for the type before the slash of TYPE/NAME."""
    plural, group = resource.plural, resource.group
    singular = plural.removesuffix("s")
    names = (plural, singular, _SHORT[resource])
    return (
        *names,
        f"{plural}.{group}",
        f"{singular}.{group}",
        f"{plural}.{resource.version}.{group}",
    )


def typed(name: str, resource: Resource = KRONJOBS) -> str:
    """TYPE/NAME as `kubectl get -o name` prints it."""
    return f"{resource.plural.removesuffix('s')}.{resource.group}/{name}"
