"""YAML as nodes: where each stands, what is repeated, and what is refused."""

from __future__ import annotations

import pytest

from kron.core.errors import Code
from kron.yaml_text.file_text import FileText
from kron.yaml_text.json_values import Stretch, json_values
from kron.yaml_text.tree import DEEPEST, Repeated, YamlError, YamlNode, read_documents


def documents(text: str, most_nodes: int = 1000) -> list[YamlNode]:
    return list(read_documents(Stretch(text), [], most_nodes=most_nodes))


def test_every_node_stands_where_its_text_is() -> None:
    text = "a: &x 'é'\nb: [1, *x]\n"
    (root,) = documents(text)
    key, value = root.children[:2]
    one, alias = root.children[3].children
    assert [text[node.start : node.end] for node in (key, value, one, alias)] == [
        "a",
        "&x 'é'",
        "1",
        "*x",
    ]
    assert alias.resolved is value
    start, end = root.children[3].close
    assert text[start:end] == "]"


def test_offsets_are_those_of_the_whole_text_behind_escapes_of_json() -> None:
    text = '{"a": 1}\n{"a": "\\ud83d\\ude00", "b": 2}\n'
    _, second = json_values(text)
    (root,) = read_documents(second, [], most_nodes=1000)
    assert root.children[1].value == "\N{GRINNING FACE}"
    assert [text[node.start : node.end] for node in root.children[2:]] == ['"b"', "2"]


def test_a_key_is_repeated_however_it_is_written() -> None:
    repeated: Repeated = []
    text = "&k a: 1\n'a': 2\n*k : 3\n<<: {}\n<<: {}\n"
    (root,) = read_documents(Stretch(text), repeated, most_nodes=1000)
    keys = root.children[::2]
    assert repeated == [(keys[1], keys[0]), (keys[2], keys[0])]


@pytest.mark.parametrize(
    ("text", "code", "start"),
    [
        pytest.param("[" * (DEEPEST + 1), Code.LIMIT, DEEPEST, id="too deep"),
        pytest.param("[1, 2, 3]", Code.LIMIT, 7, id="too many nodes"),
        pytest.param("a: *b", Code.TEXT, 3, id="no such anchor"),
        pytest.param("a: ]", Code.TEXT, 3, id="no YAML"),
        pytest.param("a: \x07", Code.TEXT, 3, id="a control character"),
    ],
)
def test_what_is_refused_is_refused_at_its_place(text: str, code: Code, start: int) -> None:
    with pytest.raises(YamlError) as raised:
        documents(text, most_nodes=3 if "3" in text else 1000)
    assert (raised.value.code, raised.value.start) == (code, start)


def test_the_documents_before_a_mistake_are_read() -> None:
    found = read_documents(Stretch("a: 1\n---\nb: ["), [], most_nodes=1000)
    assert next(found).get("a") is not None
    with pytest.raises(YamlError):
        next(found)


@pytest.mark.parametrize(
    "offset", [pytest.param(each, id=str(each)) for each in (0, 3, 4, 5, 8, 9)]
)
def test_lines_are_found_in_any_order(offset: int) -> None:
    text = "ab\r\n\ncd\nef"
    for first in range(len(text) + 1):
        file = FileText("a", text)
        file.line_of(first)
        assert file.line_of(offset) == text.count("\n", 0, offset) + 1
        assert file.column_of(offset) == offset - text.rfind("\n", 0, offset) - 1
