"""A manifest as YAML for people and kubectl: keys in their order, scripts as blocks."""

from __future__ import annotations

from collections.abc import Sequence

from kron.core.errors import visible
from kron.kube.api_object import Object
from kron.yaml_text.tree import load_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~")
_DOUBTFUL = "0123456789+-.=<"


def rendered(manifest: Object, notes: Sequence[str] = ()) -> str:
    """A document, with the notes as comments above it."""
    yaml = load_yaml("manifests", "kube")
    text: str = yaml.dump(
        manifest,
        Dumper=_dumper(yaml),
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=10_000,
    )
    comments = "".join(f"# {visible(note)}\n" for note in notes)
    return f"---\n{comments}{text}"


def _dumper(yaml: Any) -> Any:
    base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc, valid-type]
        def ignore_aliases(self, _: object) -> bool:
            return True

    Dumper.add_representer(str, _text)
    return Dumper


def _text(dumper: Any, text: str) -> Any:
    """YAML readers disagree about some words without quotes, so these get quotes."""
    style = None
    if "\n" in text and text.isascii() and not any(c.isspace() and c not in " \n" for c in text):
        style = "|"
    elif text[:1] in _DOUBTFUL or text.lower() in _WORDS:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
