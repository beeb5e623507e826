"""Whatever it is given, krontab answers with a message and a documented code, never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kron.krontab.program import main
from tests.krontab.command import AT, PROGRAM, TIME_LIMIT_S, Krontab, make_directory
from tests.krontab.files import GOOD

LINE = "0 0 * * * name=job command=/bin/true\n"
READERS = [
    pytest.param(("lint", "--at", AT), id="lint"),
    pytest.param(("list", "--at", AT), id="list"),
    pytest.param(("next", "job", "--at", AT), id="next"),
    pytest.param(("explain", "job", "--at", AT), id="explain"),
]
MIB = 2**20


def told(krontab: Krontab, words: tuple[str, ...], file: str) -> str:
    """What is said of a file that must be refused; lint says it on standard output."""
    ran = krontab(*words, "--file", file)
    assert ran.code == 1
    assert (ran.out if words[0] == "lint" else ran.err) == ran.out + ran.err
    return ran.out + ran.err


HOSTILE_TEXTS: dict[str, tuple[bytes, str]] = {
    "zeros": (b"\0" * 1000, "cannot stand in a line"),
    "all-bytes": (bytes(range(256)) * 40, "is not UTF-8"),
    "an-executable": (b"\x7fELF\x02\x01\x01\x00\xff\xfe" * 500, "is not UTF-8"),
    "utf-16": (LINE.encode("utf-16"), "is not UTF-8"),
    "latin1": (LINE.replace("job", "jöb").encode("latin1"), "is not UTF-8"),
    "byte-order-mark": (b"\xef\xbb\xbf" + LINE.encode(), "byte order mark"),
    "windows": (LINE.replace("\n", "\r\n").encode(), "carriage return"),
    "surrogates": (b"\xed\xa0\x80" + LINE.encode(), "is not UTF-8"),
    "escape-sequences": (b"0 0 * * * name=\x1b[31mred command=x\n", "cannot stand in a line"),
    "one-long-line": (b"x" * MIB, "longer than 65536 bytes"),
    "parentheses": (b"0 0 * * * @win" + b"(" * 60_000 + b"\n", "error"),
    "quotes": (b'0 0 * * * name=a command="' + b'\\"' * 30_000 + b"\n", "is never closed"),
    "a-huge-list": (b"0" + b",0" * 30_000 + b" * * * * name=a command=b\n", "error"),
    "ten-thousand-errors": (b"x\n" * 10_000, "more errors"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("words", READERS)
@pytest.mark.parametrize("name", HOSTILE_TEXTS)
def test_a_hostile_text_is_refused(krontab: Krontab, words: tuple[str, ...], name: str) -> None:
    data, message = HOSTILE_TEXTS[name]
    krontab.write("hostile.kron", data)
    said = told(krontab, words, "hostile.kron")
    assert message in said
    assert "\x1b" not in said
    assert "\0" not in said
    assert len(said) < MIB


def test_nine_megabytes_are_refused_unread(krontab: Krontab) -> None:
    krontab.write("big.kron", b"#" * 9 * MIB)
    for words in (("lint",), ("list",), ("next", "job")):
        assert "is longer than 8388608 bytes" in told(krontab, words, "big.kron")
    ran = krontab("lint", "--file", "-", given=b"#" * 9 * MIB)
    assert (ran.code, ran.out) == (1, "")
    assert "standard input is longer than 8388608 bytes" in ran.err


def a_link(path: Path) -> None:
    path.with_name("real.kron").write_text(LINE)
    path.symlink_to("real.kron")


def a_link_to_nowhere(path: Path) -> None:
    path.symlink_to("nowhere")


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def writable_by_all(path: Path) -> None:
    path.write_text(LINE)
    path.chmod(0o646)


def writable_by_the_group(path: Path) -> None:
    path.write_text(LINE)
    path.chmod(0o664)


@pytest.mark.parametrize("words", READERS)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(a_link, "is a symbolic link", id="link"),
        pytest.param(a_link_to_nowhere, "is a symbolic link", id="link-to-nowhere"),
        pytest.param(a_loop, "is a symbolic link", id="link-to-itself"),
        pytest.param(a_pipe, "is not a regular file", id="pipe"),
        pytest.param(writable_by_all, "others could write", id="writable-by-all"),
        pytest.param(writable_by_the_group, "others could write", id="writable-by-the-group"),
    ],
)
def test_a_hostile_file_is_refused(
    krontab: Krontab, words: tuple[str, ...], make: Callable[[Path], None], message: str
) -> None:
    make(Path(krontab.path("odd.kron")))
    assert message in told(krontab, words, "odd.kron")


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem"])
def test_a_device_is_no_configuration(krontab: Krontab, path: str) -> None:
    ran = krontab("list", "--file", path)
    assert ran.code in (1, 2)
    assert ran.out == ""
    assert path in ran.err


def test_a_directory_that_others_could_write_is_refused(krontab: Krontab) -> None:
    krontab.write("d/jobs.kron", LINE)
    Path(krontab.path("d")).chmod(0o777)
    assert "others could write the directory" in told(krontab, ("list",), "d")
    assert krontab("list", "--file", "d", "--allow-insecure-config").code == 0


AS_NOBODY = """\
import difflib, fcntl, json, os, sys
from kron.krontab.program import KRONTAB, main
for name in ("lint", "list", "next", "remove"):
    KRONTAB.parser(name)  # nobody need not be able to read the library
main(["lint", "--file", sys.argv[1]])
sys.stdout.write("\\f")
sys.stdout.flush()
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
class TestAsSomebodyElse:
    """Root may read everything, so these run as nobody."""

    @pytest.fixture
    def place(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as name:
            path = make_directory(Path(name))
            (path / "mine.kron").write_text(LINE)
            (path / "mine.kron").chmod(0o644)
            (path / "secret.kron").write_text(LINE)
            (path / "secret.kron").chmod(0o600)
            (path / "theirs.kron").write_text(LINE)
            (path / "theirs.kron").chmod(0o644)
            os.chown(path / "theirs.kron", 12345, 12345)
            yield path

    def run(self, krontab: Krontab, place: Path, *words: str) -> tuple[int, str, str]:
        ran = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(place / "mine.kron"), *words],
            capture_output=True,
            text=True,
            env=krontab.environment,
            cwd="/",
            timeout=TIME_LIMIT_S,
            check=False,
        )
        assert "Traceback" not in ran.stderr
        return ran.returncode, ran.stdout.partition("\f")[2], ran.stderr

    def test_what_may_be_read_is_read(self, krontab: Krontab, place: Path) -> None:
        code, out, _ = self.run(krontab, place, "list", "--file", str(place / "mine.kron"))
        assert code == 0
        assert "job" in out

    def test_what_may_not_be_read_ends_with_2(self, krontab: Krontab, place: Path) -> None:
        for words in (("list",), ("next", "job")):
            code, out, err = self.run(krontab, place, *words, "--file", str(place / "secret.kron"))
            assert (code, out) == (2, "")
            assert "secret.kron cannot be read: Permission denied" in err

    def test_what_may_not_be_read_ends_lint_with_2_as_well(
        self, krontab: Krontab, place: Path
    ) -> None:
        words = ("lint", "--file", str(place / "secret.kron"))
        assert self.run(krontab, place, *words)[0] == 2

    def test_what_belongs_to_a_third_is_refused(self, krontab: Krontab, place: Path) -> None:
        code, out, err = self.run(krontab, place, "list", "--file", str(place / "theirs.kron"))
        assert (code, out) == (1, "")
        assert "belongs to user 12345" in err

    def test_what_may_not_be_written_ends_with_2(self, krontab: Krontab, place: Path) -> None:
        words = ("remove", "job", "--file", str(place / "mine.kron"))
        code, out, err = self.run(krontab, place, *words)
        assert (code, out) == (2, "")
        assert "cannot be written: Permission denied" in err
        assert (place / "mine.kron").read_text() == LINE
        assert sorted(path.name for path in place.iterdir()) == [
            "mine.kron",
            "secret.kron",
            "theirs.kron",
        ]


@pytest.fixture
def good(krontab: Krontab) -> Krontab:
    krontab.write("good.kron", GOOD)
    return krontab


def run_with(krontab: Krontab, *words: str, **streams: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*PROGRAM, *words],
        cwd=krontab.directory,
        env=krontab.environment,
        timeout=TIME_LIMIT_S,
        check=False,
        text=True,
        **streams,
    )


def waits_for_input(pid: int) -> bool:
    """Whether a process is asleep in read(0, ...), and nowhere else."""
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    call = Path(f"/proc/{pid}/syscall").read_text().split()
    return state == "S" and call[1:2] == ["0x0"]


class TestStreams:
    """Readers that go away, disks that are full, streams that are closed."""

    @pytest.mark.heavy
    def test_a_reader_that_goes_away_ends_it_quietly(self, krontab: Krontab) -> None:
        words = ("--schedule", "* * * * *", "--identity", "i", "--count", "20000")
        with subprocess.Popen(
            [*PROGRAM, "next", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=krontab.environment,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline().startswith(b"PERIOD")
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(TIME_LIMIT_S) == -signal.SIGPIPE

    @pytest.mark.parametrize(
        "words",
        [
            ("next", "backup", "--file", "good.kron", "--count", "3000"),
            *(
                pytest.param(
                    words,
                )
                for words in (
                    ("list", "--file", "good.kron"),
                    ("list", "--file", "good.kron", "--format", "json"),
                    ("next", "--help"),
                    ("--help",),
                )
            ),
        ],
        ids=" ".join,
    )
    def test_a_full_disk_ends_with_2_and_a_message(
        self, good: Krontab, words: tuple[str, ...]
    ) -> None:
        with Path("/dev/full").open("w") as full:
            ran = run_with(good, *words, stdout=full, stderr=subprocess.PIPE)
        assert ran.returncode == 2
        assert ran.stderr == "krontab: No space left on device\n"

    def test_errors_that_cannot_be_written_keep_the_code(self, good: Krontab) -> None:
        with Path("/dev/full").open("w") as full:
            ran = run_with(good, "no-such-command", stdout=subprocess.PIPE, stderr=full)
        assert ran.returncode == 2

    def test_a_heatmap_that_cannot_be_written_ends_with_2(self, good: Krontab) -> None:
        with Path("/dev/full").open("w") as full:
            ran = run_with(good, "heatmap", "good.kron", stdout=subprocess.PIPE, stderr=full)
        assert ran.returncode == 2

    @pytest.mark.parametrize(
        ("closed", "words", "code", "message"),
        [
            (">&-", "list --file good.kron", 2, "krontab: standard output is closed\n"),
            ("2>&-", "list --sort size", 2, ""),
            ("2>&-", "heatmap good.kron", 2, ""),
            ("<&-", "add --file good.kron", 2, "standard input is closed"),
            ("<&-", "lint --file -", 2, "standard input is closed"),
            ("<&-", "replay -", 2, "standard input is closed"),
        ],
        ids=["stdout", "stderr", "stderr-as-output", "stdin", "stdin-as-a-file", "stdin-as-a-log"],
    )
    def test_a_closed_stream_is_no_traceback(
        self, good: Krontab, closed: str, words: str, code: int, message: str
    ) -> None:
        command = f"exec {sys.executable} -m kron.krontab {words} {closed}"
        ran = subprocess.run(
            ["sh", "-c", command],
            cwd=good.directory,
            env=good.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr

    def test_an_interrupt_ends_with_130_and_says_nothing(self, krontab: Krontab) -> None:
        program = (
            "import signal, sys; from kron.krontab.program import main; "
            "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main())"
        )
        with subprocess.Popen(
            [sys.executable, "-c", program, "lint", "--file", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=krontab.environment,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdin.write(b"#" * MIB)  # more than a pipe holds, so it is being read
            process.stdin.flush()
            while not waits_for_input(process.pid):
                pass
            process.send_signal(signal.SIGINT)
            assert process.wait(TIME_LIMIT_S) == 130
            assert process.stdout.read() + process.stderr.read() == b""

    def test_an_interrupt_within_a_command_ends_with_130(
        self, good: Krontab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import kron.console.parser

        def interrupted() -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(kron.console.parser, "now", interrupted)
        ran = good("list", "--file", "good.kron")
        assert ran == (130, "", "")


class TestArguments:
    """Words that no person types."""

    @pytest.mark.parametrize(
        "words",
        [
            ("next", "--schedule", "0 0 * * *", "--identity", b"\xff\xfe"),
            ("next", b"\xff", "--file", "good.kron"),
            ("next", "backup", "--file", b"\xff.kron"),
            ("next", "backup", "--file", "good.kron", "--node-id", b"\xff"),
            ("explain", "--schedule", b"0 0 * * * @seed(daily,salt=\xff)", "--identity", "i"),
            ("explain", "backup", "--file", "good.kron", "--identity", b"\xed\xa0\x80"),
            ("list", "--file", "good.kron", "--name", b"\xff"),
            ("next", "backup", "--file", "good.kron", "--at", b"\xff"),
            (b"\xff",),
            ("fuzzy", b"\xff"),
            ("fuzzy", "parse", b"daily \xff"),
            ("fuzzy", "scatter", "daily", "--id", b"\xff"),
            ("replay", b"\xff"),
            ("import", b"\xff"),
            ("diff", b"\xff", b"\xfe"),
            ("remove", b"\xff", "--file", "good.kron"),
            ("man", b"\xff"),
            ("completion", b"\xff"),
            ("lint", "--file", "good.kron", "--ignore", b"\xff"),
        ],
        ids=repr,
    )
    def test_bytes_that_are_no_text_are_refused(
        self, good: Krontab, words: tuple[str | bytes, ...]
    ) -> None:
        decoded = [os.fsdecode(word) for word in words]
        ran = good(*decoded)
        if decoded[0] == "list":
            assert ran.code == 0  # no name matches
        else:
            assert ran.code in (1, 2)
        assert ran.out == ""

    @pytest.mark.parametrize(
        "words",
        [
            ("man",),
            ("replay",),
            ("fuzzy", "compile"),
            ("remove", "job", "--file"),
        ],
        ids=" ".join,
    )
    def test_a_word_does_not_control_the_terminal(
        self, good: Krontab, words: tuple[str, ...]
    ) -> None:
        ran = good(*words, "a\x1b[31m/b")
        assert ran.code == 1
        assert "a\\x1b[31m" in ran.err
        assert "\x1b" not in ran.err

    def test_bytes_reach_a_process_as_they_reach_a_test(self, good: Krontab) -> None:
        words = ("next", "--schedule", "0 0 * * *", "--identity")
        assert good.process(*words, b"\xff") == good(*words, "\udcff")

    @pytest.mark.parametrize(
        "words", [("--description", "\udcff"), ("--env", "A=\udcff"), ("--user", "\udcff")]
    )
    def test_bytes_that_are_no_text_are_not_written(
        self, good: Krontab, words: tuple[str, ...]
    ) -> None:
        job = ("--schedule", "0 0 * * *", "--command", "/bin/true", "--name", "a")
        ran = good("add", "--file", "good.kron", *job, *words)
        assert (ran.code, ran.out) == (1, "")
        assert good.read("good.kron") == GOOD

    @pytest.mark.parametrize(
        "words",
        [
            ("lint",),
            ("list",),
            ("next", "job"),
            ("explain", "job"),
        ],
        ids=" ".join,
    )
    def test_a_file_whose_name_is_no_text_has_no_identity(
        self, krontab: Krontab, words: tuple[str, ...]
    ) -> None:
        krontab.write("\udcff.kron", LINE)
        ran = krontab(*words, "--file", "\udcff.kron")
        assert ran.code == 1
        assert "is not valid Unicode" in ran.out + ran.err

    @pytest.mark.parametrize(
        ("way", "identity"),
        [
            ("schedule", ""),
            ("schedule", "a\nb"),
            ("file", "\n"),
            ("file", "a\r\nb"),
            pytest.param("file", ""),
        ],
    )
    def test_an_identity_is_one_line(self, good: Krontab, way: str, identity: str) -> None:
        job = {"schedule": ("--schedule", "0 0 * * *"), "file": ("backup", "--file", "good.kron")}
        for command in ("explain", "next"):
            ran = good(command, *job[way], "--identity", identity)
            assert (ran.code, ran.out) == (1, "")
            assert "is not an identity" in ran.err

    @pytest.mark.parametrize("way", ["identity", "path", "path-of-an-error"])
    def test_nothing_that_a_terminal_obeys_is_printed(self, krontab: Krontab, way: str) -> None:
        krontab.write("\x1b[31mred.kron", LINE)
        krontab.write("\x1b[31mwrong.kron", "x\n")
        words = {
            "identity": ("--schedule", "0 0 * * *", "--identity", "a\x1b[2Jb"),
            "path": ("job", "--file", "\x1b[31mred.kron"),
            "path-of-an-error": ("job", "--file", "\x1b[31mwrong.kron"),
        }[way]
        ran = krontab("explain", *words)
        assert "\x1b" not in ran.out + ran.err

    @pytest.mark.parametrize("words", [("next", ""), ("explain", ""), ("remove", "")])
    def test_an_empty_name_is_no_job(self, good: Krontab, words: tuple[str, ...]) -> None:
        ran = good(*words, "--file", "good.kron")
        assert (ran.code, ran.out) == (1, "")

    @pytest.mark.heavy
    def test_as_many_runs_as_may_be_asked_for_are_shown(self, krontab: Krontab) -> None:
        words = ("--schedule", "* * * * *", "--identity", "i", "--at", AT)
        ran = krontab("next", *words, "--count", "100000")
        assert len(ran.lines) == 100_001

    def test_a_long_word_is_shortened_in_messages(self, good: Krontab) -> None:
        long = "x" * 100_000
        for words in (("next", long, "--file", "good.kron"), ("next", "--at", long), (long,)):
            ran = good(*words)
            assert ran.code in (1, 2)
            assert len(ran.err) < 1_000

    def test_a_schedule_that_is_a_bomb_is_refused_in_no_time(self, krontab: Krontab) -> None:
        for schedule in ("(" * 100_000, "@" * 100_000, "*," * 50_000, '"' * 100_000, "9" * 100_000):
            ran = krontab("next", "--schedule", schedule, "--identity", "i")
            assert (ran.code, ran.out) == (1, "")
            assert len(ran.err) < 10_000


def test_main_takes_the_words_of_the_process_by_default(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "argv", ["krontab", "--version"])
    assert main() == 0
