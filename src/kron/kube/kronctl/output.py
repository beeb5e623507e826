"""`-o`: objects as the API server has them, in the formats of kubectl.

`--format` is another question: it says how kronctl's own answer is printed. So the two are not
used together.
"""

from __future__ import annotations

from collections.abc import Sequence

from kron.console.parser import UsageError
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.kube.api_object import Object
from kron.kube.client.resources import Resource
from kron.kube.kronctl.name import typed
from kron.yaml_text.tree import load_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace, _ActionsContainer
    from typing import Any

_MEANINGS = {
    "yaml": "the whole objects",
    "json": "the same as JSON",
    "name": "TYPE/NAME",
    "wide": "more columns",
}
_QUOTED_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~")
_QUOTED_STARTS = "0123456789+-.=<"


def add_output(parser: _ActionsContainer, *formats: str) -> None:
    meanings = ", ".join(f"{each}: {_MEANINGS[each]}" for each in formats)
    parser.add_argument("-o", "--output", choices=formats, help=f"as kubectl prints it: {meanings}")


def check_output(arguments: Namespace) -> None:
    if arguments.output and arguments.format != "text":
        message = "-o prints objects of Kubernetes and --format kronctl's own answer, not both"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="give one of them")


def print_objects(
    objects: Sequence[Object], form: str, resource: Resource, kind: str, terminal: Terminal
) -> None:
    """Print a list of objects in one of the formats but `wide`."""
    if form == "name":
        terminal.print(*(typed(each["metadata"]["name"], resource) for each in objects))
        return
    items = [_shown(each, resource, kind) for each in objects]
    _print_document({"apiVersion": "v1", "kind": "List", "items": items}, form, terminal)


def print_object(
    obj: Object, form: str, resource: Resource, kind: str, terminal: Terminal, *, many: bool = False
) -> None:
    """Print one object; `many`: others may follow in the same stream."""
    if form == "name":
        print_objects([obj], form, resource, kind, terminal)
        return
    if many and form == "yaml":
        terminal.print("---")
    _print_document(_shown(obj, resource, kind), form, terminal)


def _shown(obj: Object, resource: Resource, kind: str) -> Object:
    """With its type, which a list of the API server leaves out, and without its managed fields."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    typed_as = {"apiVersion": f"{resource.group}/{resource.version}", "kind": kind}
    return {**typed_as, **obj, "metadata": metadata}


def _print_document(document: Object, form: str, terminal: Terminal) -> None:
    if form == "json":
        try:
            terminal.print_json(document)
        except RecursionError:
            raise _too_deep("JSON", "print it with kubectl get -o json") from None
    else:
        terminal.output.write(yaml_of(document))


def yaml_of(document: Object) -> str:
    yaml = load_yaml("manifests", "kube")
    try:
        text: str = yaml.dump(
            document,
            Dumper=_dumper(yaml),
            sort_keys=False,
            default_flow_style=False,
            allow_unicode=True,
            width=10_000,
        )
    except RecursionError:
        raise _too_deep("YAML", "print it as JSON") from None
    # They stand in double quotes: see _represented.
    odd = [each for each in set(text) if not each.isprintable() and each != "\n"]
    return text.translate({ord(each): _yaml_escape(each) for each in odd}) if odd else text


def _yaml_escape(character: str) -> str:
    point = ord(character)
    return f"\\u{point:04X}" if point <= 0xFFFF else f"\\U{point:08X}"


def _too_deep(language: str, fix: str) -> KronError:
    return KronError(Code.LIMIT, f"the object is nested too deeply for {language}", fix)


def _dumper(yaml: Any) -> Any:
    base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc, valid-type]
        def ignore_aliases(self, _: object) -> bool:
            return True

    Dumper.add_representer(str, _represented)
    return Dumper


def _represented(dumper: Any, text: str) -> Any:
    """YAML readers disagree about some words without quotes, so these get quotes.

    What a terminal would obey or hide gets them, too: only they allow for escapes.
    """
    text = text.encode(errors="backslashreplace").decode()  # YAML has no half characters
    style = None
    if not text.replace("\n", "").isprintable():
        style = '"'
    elif "\n" in text and text.isascii() and not any(c.isspace() and c not in " \n" for c in text):
        style = "|"
    elif text[:1] in _QUOTED_STARTS or text.lower() in _QUOTED_WORDS:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
