"""What a table, a progress line and a terminal write."""

from __future__ import annotations

import io
import json

import pytest

from kron.console import progress as progress_module
from kron.console.progress import Progress
from kron.console.terminal import Terminal


class Screen(io.StringIO):
    """A stream at which a person sits."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    rows = [("茶", "7"), ("coffee", "100")]
    terminal = Terminal(io.StringIO(), io.StringIO())
    shown = list(terminal.table(("NAME", "N"), rows, right=("N",)))
    assert shown == ["NAME      N", "茶        7", "coffee  100"]


def test_colour_does_not_shift_a_column() -> None:
    terminal = Terminal(Screen(), io.StringIO())
    shown = list(terminal.table(("NAME", "N"), [("tea", "7")], styles={"NAME": "bold"}))
    assert shown == ["\x1b[2mNAME\x1b[0m  \x1b[2mN\x1b[0m", "\x1b[1mtea\x1b[0m   7"]


def test_each_stream_is_looked_at_for_itself() -> None:
    terminal = Terminal(Screen(), io.StringIO())
    assert terminal.styled("x", "red") == "\x1b[31mx\x1b[0m"
    assert terminal.styled_error("x", "red") == "x"
    terminal.use_colour("always")
    assert terminal.styled_error("x", "bold", "red") == "\x1b[1;31mx\x1b[0m"
    terminal.use_colour("never")
    assert terminal.styled("x", "red") == "x"


def test_nothing_has_no_style() -> None:
    assert Terminal(Screen(), Screen(), "always").styled("", "red") == ""


def test_json_holds_nothing_that_a_terminal_would_obey() -> None:
    """Also none of the controls that json leaves as they are: CSI is ESC [ in one character."""
    controls = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
    value = {f"key{controls}": [f"é茶{controls}"]}
    output = io.StringIO()
    Terminal(output, io.StringIO()).print_json(value)
    assert output.getvalue().replace("\n", "").isprintable()
    assert "\\u009b" in output.getvalue()
    assert "é茶" in output.getvalue()
    assert json.loads(output.getvalue()) == value


@pytest.mark.parametrize(
    ("total", "shown"),
    [
        pytest.param(4, f"boiling {'█' * 15}{'░' * 15}  50%", id="of-a-total"),
        pytest.param(0, "boiling 2", id="without-one"),
    ],
)
def test_progress_is_one_line_that_goes(
    monkeypatch: pytest.MonkeyPatch, total: int, shown: str
) -> None:
    monkeypatch.setattr(progress_module, "_QUIET_S", 0)
    errors = Screen()
    with Progress(Terminal(io.StringIO(), errors), "boiling", total) as progress:
        progress.advance(2)
    assert errors.getvalue() == f"\r{shown}\x1b[K\r\x1b[K"


def test_progress_is_quiet_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "_QUIET_S", 0)
    errors = io.StringIO()
    with Progress(Terminal(io.StringIO(), errors), "boiling") as progress:
        progress.advance()
    assert errors.getvalue() == ""
