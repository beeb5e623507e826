"""What krond is installed with does what it says: systemd units, logrotate, the container recipe.

Images cannot be built in the tests, and there is no systemd to run units. So what they say is read,
checked by the programs that are there, and the processes are started as they would be.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kron.krond.control.client import ask
from kron.krond.program import EXIT_CODES, KROND, RUNNING, USAGE
from tests.krond.host import Host
from tests.logbook import PATIENCE_S, wait_for

SHARE = Path(__file__).parent.parent / "share"
SYSTEM_UNIT = SHARE / "systemd/system/krond.service"
USER_UNIT = SHARE / "systemd/user/krond.service"
HARDENING = SHARE / "systemd/system/hardening.conf"
LOGROTATE = SHARE / "krond/logrotate"
CONTAINERFILE = SHARE / "krond/Containerfile"
UNITS = [pytest.param(SYSTEM_UNIT, id="system"), pytest.param(USER_UNIT, id="user")]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


def directives(unit: Path) -> dict[str, list[str]]:
    """The values of every directive, whatever its section."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        if line and line[0] not in "#[":
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def accepted(words: list[str]) -> dict[str, Any]:
    """What krond makes of a command line: a wrong one ends the test."""
    program, command, *rest = words
    assert program.endswith("krond")
    taken: dict[str, Any] = vars(KROND.parser(command).parse_args(rest))
    return taken


# systemd


@needs("systemd-analyze")
@pytest.mark.parametrize(
    ("unit", "drop_in"),
    [
        pytest.param(SYSTEM_UNIT, None, id="system"),
        pytest.param(SYSTEM_UNIT, HARDENING, id="system, hardened"),
        pytest.param(USER_UNIT, None, id="user"),
    ],
)
def test_systemd_understands_every_line_of_a_unit(
    unit: Path, drop_in: Path | None, tmp_path: Path
) -> None:
    installed = tmp_path / "krond.service"
    program = re.compile(r"^(Exec\w+=)\S*/krond", re.MULTILINE)
    installed.write_text(program.sub(r"\1/bin/true", unit.read_text()))
    if drop_in is not None:
        (tmp_path / "krond.service.d").mkdir()
        shutil.copy(drop_in, tmp_path / "krond.service.d")
    done = subprocess.run(
        [
            *("systemd-analyze", "verify", "--man=no"),
            *(["--user"] if unit is USER_UNIT else []),
            str(installed),
        ],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    assert [line for line in said if "'DelegateSubgroup'" not in line] == []  # of systemd 254
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("unit", UNITS)
def test_krond_takes_the_command_lines_of_a_unit(unit: Path) -> None:
    lines = directives(unit)
    (start,), (reload,) = lines["ExecStart"], lines["ExecReload"]
    started = accepted(shlex.split(start))
    assert started["foreground"] is True
    assert len(started["config"]) == 1
    accepted(shlex.split(reload))


@pytest.mark.parametrize("unit", UNITS)
def test_a_stopped_unit_leaves_its_runs_to_the_next_krond(unit: Path) -> None:
    lines = directives(unit)
    assert lines["KillMode"] == ["process"]
    assert accepted(shlex.split(lines["ExecStart"][0]))["on_stop"] == "leave"


@pytest.mark.parametrize("unit", UNITS)
def test_a_run_without_memory_does_not_take_krond_with_it(unit: Path) -> None:
    assert directives(unit)["OOMPolicy"] == ["continue"]


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_says_how_it_is_ready_and_that_it_lives(unit: Path) -> None:
    lines = directives(unit)
    assert lines["Type"] == ["notify"]
    assert lines["Restart"] == ["on-failure"]
    assert "WatchdogSec" in lines


@pytest.mark.parametrize("unit", UNITS)
def test_only_what_time_does_not_mend_is_not_tried_again(unit: Path) -> None:
    (prevented,) = directives(unit)["RestartPreventExitStatus"]
    assert {int(code) for code in prevented.split()} == {RUNNING, USAGE}
    assert EXIT_CODES.keys() >= {RUNNING, USAGE}


def test_the_unit_makes_the_directories_that_krond_reads_and_writes() -> None:
    lines = directives(SYSTEM_UNIT)
    assert lines["StateDirectory"] == ["krond"]
    assert lines["StateDirectoryMode"] == ["0700"]
    (config,) = accepted(shlex.split(lines["ExecStart"][0]))["config"]
    assert config == f"/etc/{lines['ConfigurationDirectory'][0]}"


def test_the_unit_confines_no_job_and_the_hardening_says_what_it_costs() -> None:
    gives_up_rights = re.compile(
        r"NoNewPrivileges|Capability|Protect|Private|ReadOnly|ReadWrite|Inaccessible|Restrict(?!"
        r"Realtime)|MemoryDeny|SystemCallArchitectures|User|Group|DynamicUser|RootDirectory"
    )
    assert list(filter(gives_up_rights.match, directives(SYSTEM_UNIT))) == []
    confined = [line for line in HARDENING.read_text().splitlines() if gives_up_rights.match(line)]
    assert len(confined) > 10


@pytest.mark.heavy
@needs_root
@needs("setpriv")
def test_the_capabilities_of_the_hardening_are_all_that_krond_needs(tmp_path: Path) -> None:
    kept = {
        name.removeprefix("CAP_").lower()
        for value in directives(HARDENING)["CapabilityBoundingSet"]
        for name in value.split()
    }
    listed = subprocess.run(["setpriv", "--list-caps"], capture_output=True, text=True, check=True)
    dropped = ",".join(f"-{name}" for name in sorted(set(listed.stdout.split()) - kept))
    wrapper = ("setpriv", "--no-new-privs", f"--bounding-set={dropped}", "--")
    with TemporaryDirectory() as directory, Host(tmp_path) as host:  # not pytest's, which is 0700
        work = Path(directory)
        os.chown(work, 65534, 65534)
        never = "0 0 1 1 *"
        host.write(
            f'{never} name=long command="/bin/sleep 600" user=nobody nice=-5 limit_nofile=512',
            f"{never} name=who command=/usr/bin/id user=nobody stdout=file:{work}/who.txt",
        )
        host.start(wrapper=wrapper)
        ended = host.ask("trigger", job="who", wait=True)["ended"]
        assert ended["exit_code"] == 0, ended
        assert (work / "who.txt").read_text().startswith("uid=65534(nobody) gid=65534(nogroup)")
        assert (work / "who.txt").stat().st_uid == 65534

        run_id = host.ask("trigger", job="long")["run_id"]
        pid = wait_for(lambda: host.row("long")["active"], "the run")[0]["pid"]
        host.kill()
        (host.state / "runs" / run_id).write_bytes(b"")  # as if killed before it was noted
        host.start(wrapper=wrapper)
        assert [run["pid"] for run in host.row("long")["active"]] == [pid]

        host.ask("stop", how="terminate")
        assert host.wait() == 0
        assert not Path(f"/proc/{pid}").exists() or "(zombie)" in _status(pid)


def _status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


# logrotate


@contextmanager
def background(directory: Path) -> Iterator[Path]:
    """A krond in the background, with nothing to do: its state directory."""
    host = Host(directory)
    host.write("0 0 1 1 * name=hello command='/bin/echo hello'".replace("'", '"'))
    start = ("start", "--config", str(host.config), "--output-dir", str(host.outputs))
    assert host.command(*start).returncode == 0
    try:
        yield host.state
    finally:
        host.command("stop", "--terminate")


def after_rotation(state: Path) -> str:
    """The script that logrotate runs, for a krond with this state directory."""
    text = LOGROTATE.read_text().replace("/var/lib/krond", str(state))
    return text.partition("postrotate\n")[2].partition("endscript")[0]


@pytest.mark.heavy
@needs("flock")
def test_krond_goes_on_in_new_files_after_a_rotation(tmp_path: Path) -> None:
    with background(tmp_path) as state:
        for name in ("krond.log", "krond.out"):
            (state / name).rename(state / f"{name}.1")
        subprocess.run(["/bin/sh", "-ec", after_rotation(state)], check=True, timeout=PATIENCE_S)
        for name in ("krond.log", "krond.out"):
            wait_for((state / name).exists, f"{name} is there again")
        before = (state / "krond.log.1").read_bytes()
        ask(str(state), {"command": "trigger", "job": "hello", "wait": True}, PATIENCE_S)
        assert "event=exited" in (state / "krond.log").read_text()
        assert (state / "krond.out").read_text() == ""
        assert (state / "krond.log.1").read_bytes() == before


@needs("flock")
def test_a_rotation_signals_nobody_who_has_the_number_of_a_dead_krond(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/sleep", "600"]) as bystander:
        try:
            (tmp_path / "krond.pid").write_text(f"{bystander.pid}\n")
            script = after_rotation(tmp_path)
            subprocess.run(["/bin/sh", "-ec", script], check=True, timeout=PATIENCE_S)
            bystander.terminate()
            assert bystander.wait(PATIENCE_S) == -signal.SIGTERM
        finally:
            bystander.kill()


@pytest.mark.heavy
@needs_root
@needs("logrotate")
def test_logrotate_takes_its_configuration(tmp_path: Path) -> None:
    with background(tmp_path) as state:
        configuration = tmp_path / "logrotate.conf"
        configuration.write_text(LOGROTATE.read_text().replace("/var/lib/krond", str(state)))
        configuration.chmod(0o644)
        words = ["logrotate", "--force", "--state", str(tmp_path / "rotated"), str(configuration)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert (state / "krond.log.1").exists()
        wait_for((state / "krond.log").exists, "krond.log is there again")


# The container


def instructions() -> list[tuple[str, str]]:
    """The lines of the recipe, each as its keyword and the rest."""
    lines = CONTAINERFILE.read_text().splitlines()
    split = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(keyword, rest) for keyword, rest in split]


def values(keyword: str) -> list[str]:
    return [rest for found, rest in instructions() if found == keyword]


def test_no_line_of_the_recipe_needs_a_shell() -> None:
    for keyword in ("RUN", "ENTRYPOINT", "CMD"):
        for value in values(keyword):
            words = json.loads(value)
            assert isinstance(words, list)
            assert not {"sh", "/bin/sh", "bash", "-c"} & set(words)


def test_everything_that_the_recipe_copies_is_here() -> None:
    copied = [value.split()[:-1] for value in values("COPY") if not value.startswith("--from")]
    assert copied
    for names in copied:
        assert all((SHARE.parent / name).exists() for name in names), names


def test_the_image_is_not_root_and_keeps_its_state_in_a_volume() -> None:
    (user,), (volume,) = values("USER"), values("VOLUME")
    assert int(user.split(":")[0]) > 0
    environment = dict(word.split("=", 1) for value in values("ENV") for word in value.split())
    assert environment["HOME"] in json.loads(volume)
    # A user's default, which `krond status` finds without being told; root's would be the volume.
    (command,) = values("CMD")
    started = accepted(["krond", *json.loads(command)])
    assert str(started["state_dir"]) == f"{environment['HOME']}/.local/state/krond"


def test_krond_takes_the_command_line_of_the_image() -> None:
    words = [*json.loads(values("ENTRYPOINT")[0]), *json.loads(values("CMD")[0])]
    assert words[0] == "krond"
    taken = accepted(words)
    assert taken["foreground"] is True
    assert taken["allow_insecure_config"] is True
    assert taken["on_stop"] == "terminate"


@needs("unshare")
def test_krond_is_process_1_without_rights_and_leaves_nothing_behind(tmp_path: Path) -> None:
    user = values("USER")[0].split(":")[0]
    wrapper = ["unshare", "--user", f"--map-user={user}", f"--map-group={user}"]
    wrapper += ["--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs namespaces for users and processes")
    config, home = tmp_path / "config", tmp_path / "home"
    config.mkdir()
    home.mkdir()
    orphan = f'setsid /bin/sh -c \\"echo begun > {home}/orphan; exec sleep 0.1\\" &'
    (config / "jobs.kron").write_text(
        f'0 0 1 1 * name=orphan shell=true command="({orphan})"\n'
        '0 0 1 1 * name=long command="/bin/sleep 600"\n'
    )
    (config / "jobs.kron").chmod(0o666)  # as a mount may have it
    places = {"/etc/krond.d": str(config), "/var/lib/krond": str(home)}
    command = [
        next((word.replace(a, b) for a, b in places.items() if word.startswith(a)), word)
        for word in json.loads(values("CMD")[0])
    ]
    with subprocess.Popen(
        [*wrapper, sys.executable, "-m", "kron.krond", *command],
        env={**os.environ, "HOME": str(home), "XDG_STATE_HOME": ""},
        stderr=subprocess.PIPE,
        text=True,
    ) as namespace:
        try:
            state = home / ".local/state/krond"
            wait_for((state / "control.sock").exists, "krond is ready")
            (krond,) = children(namespace.pid)

            def request(command: str, **fields: object) -> dict[str, object]:
                return ask(str(state), {"command": command, **fields}, PATIENCE_S)

            assert request("status")["pid"] == 1
            request("trigger", job="orphan", wait=True)
            wait_for((home / "orphan").exists, "the orphan began")
            wait_for(lambda: not children(krond), "every orphan is reaped")

            request("trigger", job="long")
            wait_for(lambda: children(krond), "the run began")
            os.kill(krond, signal.SIGTERM)
            assert namespace.wait(PATIENCE_S) == 0
            assert namespace.stderr is not None
            *_, last = map(json.loads, namespace.stderr.read().splitlines())
            assert (last["event"], last["name"], last["signal"]) == ("exited", "long", "SIGTERM")
        finally:
            namespace.kill()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
