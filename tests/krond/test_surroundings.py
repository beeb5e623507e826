"""What a run finds when it begins: as specified, whatever krond itself was started with."""

from __future__ import annotations

import os
import pwd
import resource
import signal
from pathlib import Path

import pytest

from tests.krond.children import NEVER, Family, descriptors_of, in_private_mounts, mode_of
from tests.krond.process.expected import needs, needs_root

ENVIRONMENT = "/bin/cat /proc/self/environ"
PATH = {"PATH": "/usr/bin:/bin"}


def variables(path: Path) -> dict[bytes, bytes]:
    """The environment that a run has written to a file."""
    found = [entry.split(b"=", 1) for entry in path.read_bytes().split(b"\0") if entry]
    assert len({name for name, _ in found}) == len(found), "a name is there twice"
    return dict(found)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="plain"),
        pytest.param({"LC_ALL": "C"}, id="C"),
        pytest.param({"LANG": "C"}, id="C-that-Python-would-coerce"),
        pytest.param({"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, id="not-UTF-8"),
        pytest.param({"PYTHONUTF8": "1"}, id="already-UTF-8"),
        pytest.param(
            {"BYTES": os.fsdecode(b"\xff\xfe\x80"), os.fsdecode(b"N\xe4me"): "", "LINES": "1\n2"},
            id="any-bytes",
        ),
        pytest.param({"KRON_RUN_ID": "outer", "KRON_PERIOD": "outer"}, id="krond-in-a-run"),
    ],
)
def test_the_environment_is_krond_s_own_and_nothing_else(
    tmp_path: Path, given: dict[str, str]
) -> None:
    """Plus what the file says, and names that say which run it is."""
    of_systemd = {"NOTIFY_SOCKET": "/none", "WATCHDOG_USEC": "90000000", "LISTEN_FDS": "1"}
    outer = {"KRON_RUN_ID", "KRON_PERIOD"}
    with Family(tmp_path) as host:
        line = f'command="{ENVIRONMENT}" stdout=file:{tmp_path}/{{name}}'
        more = 'env=ADDED=yes env=HOME=/elsewhere env="QUOTED=a b"'
        host.write(
            f"{NEVER} name=spawned {line} {more}",
            f"{NEVER} name=launched {line} nice=3 {more}",
        )
        host.start(env={**PATH, "HOME": "/home", **given, **of_systemd})
        for name in ("spawned", "launched"):
            run_id = host.trigger(name)
            host.wait_for_run("exited", run_id)
            expected = {
                **{key: value for key, value in given.items() if key not in outer},
                **PATH,
                "KRON_TEST": str(tmp_path),
                "ADDED": "yes",
                "HOME": "/elsewhere",
                "QUOTED": "a b",
                "KRON_RUN_ID": run_id,
                "KRON_JOB": name,
            }
            assert variables(tmp_path / name) == {
                os.fsencode(key): os.fsencode(value) for key, value in expected.items()
            }


def test_a_run_of_a_period_knows_its_period(tmp_path: Path) -> None:
    with Family(tmp_path) as host:
        line = f'command="{ENVIRONMENT}" stdout=file:{tmp_path}/seen'
        host.start_empty(env={**PATH, "KRON_PERIOD": "outer"})
        host.load(f"{host.soon('some/job', 1)} name=some/job {line}")
        host.wait_for_event("exited", "some/job")
        started = host.wait_for_event("started", "some/job")
        expected = {
            **PATH,
            "KRON_TEST": str(tmp_path),
            "KRON_RUN_ID": str(started["run_id"]),
            "KRON_JOB": "some/job",
            "KRON_PERIOD": str(started["period"]),
            "KRON_CHOSEN": str(started["chosen"]),
        }
        assert variables(tmp_path / "seen") == {
            key.encode(): value.encode() for key, value in expected.items()
        }


@needs_root
@needs("unshare", "mount")
def test_a_job_of_a_crontab_inherits_nothing(tmp_path: Path) -> None:
    etc, output = tmp_path / "etc", tmp_path / "environment"
    etc.mkdir()
    (tmp_path / "crontab").write_text(
        f"GIVEN=yes\n{NEVER} root exec cat /proc/self/environ > {output}\n"
    )
    with Family(tmp_path) as host:
        wrapper = in_private_mounts(
            f"mount -t tmpfs none {etc}",
            f"cp -a /etc/. {etc}/",
            f"rm -rf {etc}/crontab {etc}/cron.d",
            f"cp {tmp_path}/crontab {etc}/crontab",
            f"mount --move {etc} /etc",
            "{ [ ! -d /var/spool/cron ] || mount -t tmpfs none /var/spool/cron; }",
        )
        host.write("# nothing")
        sources = ("--source", "krontab", "--source", "cron")
        host.start(*sources, wrapper=wrapper, env={**PATH, "SECRET": "krond's own"})
        (row,) = host.ask("status")["jobs"]
        run_id = host.trigger(row["name"])
        host.wait_for_run("exited", run_id)
        found = variables(output)
        assert b"SECRET" not in found
        assert b"KRON_TEST" not in found
        assert found.pop(b"KRON_RUN_ID") == run_id.encode()
        assert found.pop(b"KRON_JOB") == row["name"].encode()
        assert found.pop(b"GIVEN") == b"yes"
        assert found.pop(b"PATH")
        found.pop(b"PWD", None)  # which the shell adds
        home = os.fsencode(pwd.getpwnam("root").pw_dir)
        assert found == {b"SHELL": b"/bin/sh", b"HOME": home, b"LOGNAME": b"root", b"USER": b"root"}


def seen_by(host: Family, name: str) -> dict[str, str]:
    """The descriptors that a run has listed, but for that of the listing itself."""
    text = host.path(name).read_text()
    rows = [line.split(" -> ") for line in text.splitlines() if " -> " in line]
    found = {left.rsplit(" ", 1)[1]: target for left, target in rows}
    own = [number for number, target in found.items() if target.startswith("/proc/")]
    assert len(own) == 1
    return {number: target for number, target in found.items() if number not in own}


@pytest.mark.parametrize(
    "is_background", [pytest.param(False, id="foreground"), pytest.param(True, id="background")]
)
def test_no_descriptor_of_krond_s_is_left_in_a_run(tmp_path: Path, is_background: bool) -> None:
    """It has a timer, an epoll, sockets, a lock, a log; and what whoever started it left open."""
    gift, other_end = os.pipe()
    try:
        with Family(tmp_path) as host:
            look = f'command="/bin/ls -l /proc/self/fd" stdout=file:{tmp_path}/{{name}}'
            host.write(
                f"{NEVER} name=spawned {look} stderr=discard",
                f"{NEVER} name=launched {look} stderr=discard nice=2",
                f"{NEVER} name=in-one {look} stderr=file:{tmp_path}/{{name}} umask=0077",
                host.job("going-on", "sleep 60", fields="nice=1"),
            )
            if is_background:
                pid = host.start_in_background(pass_fds=(gift,))
            else:
                host.start(pass_fds=(gift,))
                pid = host.pid
                assert str(Path(f"/proc/self/fd/{gift}").readlink()) in descriptors_of(pid)
            host.trigger("going-on")
            assert len(descriptors_of(pid)) > 10
            for name in ("spawned", "launched", "in-one"):
                host.wait_for_run("exited", host.trigger(name))
                file = f"{tmp_path}/{name}"
                errors = file if name == "in-one" else "/dev/null"
                assert seen_by(host, name) == {"0": "/dev/null", "1": file, "2": errors}
    finally:
        os.close(gift)
        os.close(other_end)


def test_a_krond_that_was_started_with_closed_descriptors_gives_none_of_its_own_away(
    tmp_path: Path,
) -> None:
    with Family(tmp_path) as host:
        host.write(
            host.job("output", "ls -l /proc/self/fd > output"),
            f"{NEVER} name=errors nice=1 "
            f'command="/bin/ls -l /proc/self/fd" stdout=file:{tmp_path}/errors',
        )
        host.start(wrapper=["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
        for name in ("output", "errors"):
            assert host.wait_for_run("exited", host.trigger(name))["exit_code"] == "0"
            found = seen_by(host, name)
            assert found.pop("1") == f"{tmp_path}/{name}"
            assert found == {"0": "/dev/null", "2": "/dev/null"}


def test_directory_mask_limits_niceness_and_signals_are_those_of_the_file_or_krond_s_own(
    tmp_path: Path,
) -> None:
    """Signals have their defaults, whatever krond was started with or has done to its own."""
    soft, hard = 256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def odd() -> None:
        for number in (signal.SIGPIPE, signal.SIGUSR2, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM})
        os.umask(0o037)
        os.nice(1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    with Family(tmp_path) as host:
        files = "/proc/self/status /proc/self/limits /proc/self/stat"
        fields = "cwd=/usr umask=0077 limit_nofile=77 limit_core=4096 nice=7"
        to_file = f"stdout=file:{tmp_path}/{{name}}"
        host.write(
            f'{NEVER} name=plain command="/bin/cat {files}" {to_file}',
            f'{NEVER} name=plain-place command="/bin/readlink /proc/self/cwd" {to_file}',
            f'{NEVER} name=special command="/bin/cat {files}" {fields} {to_file}',
            f'{NEVER} name=special-place command="/bin/readlink /proc/self/cwd" {fields} {to_file}',
        )
        host.start(preexec_fn=odd, cwd="/var")
        found = {}
        for name in ("plain", "special", "plain-place", "special-place"):
            host.wait_for_run("exited", host.trigger(name))
            found[name] = host.path(name).read_text()
        assert host.stop() == 0  # it hears SIGTERM, though it was blocked
    core = resource.getrlimit(resource.RLIMIT_CORE)
    for name, mask, files_limit, core_limit, nice in (
        ("plain", "0037", (soft, hard), core, os.nice(0) + 1),
        ("special", "0077", (77, 77), (4096, 4096), 7),
    ):
        lines = found[name].splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        assert status["Umask"] == mask
        assert int(status["SigBlk"], 16) == int(status["SigCgt"], 16) == 0
        # Two that the C library keeps to itself are left as they are.
        assert int(status["SigIgn"], 16) & ~0x1_8000_0000 == 0
        for title, (low, high) in (
            ("Max open files", files_limit),
            ("Max core file size", core_limit),
        ):
            (line,) = (line for line in lines if line.startswith(title))
            assert line[len(title) :].split()[:2] == [_limit(low), _limit(high)]
        assert int(lines[-1].rsplit(")", 1)[1].split()[16]) == nice
    assert (found["plain-place"], found["special-place"]) == ("/var\n", "/usr\n")
    assert (mode_of(tmp_path / "plain"), mode_of(tmp_path / "special")) == (0o640, 0o600)


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)
