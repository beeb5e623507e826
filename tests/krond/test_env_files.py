"""Variables from a file, and a clean environment, on a real krond."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from kron import KronError
from tests.jobs.test_source import public_place
from tests.krond.children import NEVER, Family
from tests.krond.process.expected import needs_root
from tests.krond.test_surroundings import ENVIRONMENT, PATH, variables

__all__ = ["public_place"]  # a fixture

SECRET = "correct horse"


def seen(host: Family, name: str) -> dict[bytes, bytes]:
    """The environment of a run that is triggered now, without what says which run it is."""
    host.path(name).write_bytes(b"")
    host.path(name).chmod(0o666)
    host.wait_for_run("exited", host.trigger(name))
    found = variables(host.path(name))
    return {key: value for key, value in found.items() if not key.startswith(b"KRON_")}


def test_variables_come_from_krond_then_the_file_then_the_line(tmp_path: Path) -> None:
    file = tmp_path / "app.env"
    file.write_text(f"A=file\nB=file\nC='{SECRET}'\nKRON_RUN_ID=forged\n")
    with Family(tmp_path) as host:
        fields = f"env_file={file} env=B=line stdout=file:{tmp_path}/{{name}}"
        host.write(f'{NEVER} name=job command="{ENVIRONMENT}" {fields}')
        host.start(env={**PATH, "A": "krond", "D": "krond"})
        expected = {b"A": b"file", b"B": b"line", b"C": SECRET.encode(), b"D": b"krond"}
        assert seen(host, "job") == {**expected, b"PATH": b"/usr/bin:/bin"}
        # It is read at each start, not when krond loads the job.
        file.write_text("A=changed")
        assert seen(host, "job")[b"A"] == b"changed"
        assert variables(host.path("job"))[b"KRON_RUN_ID"] != b"forged"


def test_a_run_whose_file_cannot_be_used_does_not_start(tmp_path: Path) -> None:
    bad, missing = tmp_path / "bad.env", tmp_path / "missing.env"
    bad.write_text(f"A=1\nexport B={SECRET}\n")
    with Family(tmp_path) as host:
        host.write(
            host.job("bad", "touch ran", fields=f"env_file={bad}"),
            host.job("missing", "touch ran", fields=f"env_file={missing}"),
            host.job("optional", "touch optional", fields=f"env_file=-{missing}"),
        )
        host.start()
        host.wait_for_run("exited", host.trigger("optional"))
        for name in ("bad", "missing"):
            with pytest.raises(KronError, match="the run could not start: the environment file"):
                host.trigger(name)
        assert host.path("optional").exists()
        assert not host.path("ran").exists()
        reasons = {record["name"]: str(record["error"]) for record in host.events("error")}
        refused = "the environment file {} cannot be used: {}".format
        assert reasons == {
            "bad": refused(f'"{bad}"', "line 2 does not begin with NAME="),
            "missing": refused(f'"{missing}"', "it does not exist"),
        }
        assert {str(record.level) for record in host.events("error")} == {"ERROR"}
        assert SECRET not in host.log.read_text() + host.said() + str(host.ask("status"))


@needs_root
@pytest.mark.parametrize("user", ["", "nobody"])
def test_a_clean_environment_has_what_cron_gives(public_place: Path, user: str) -> None:
    file = public_place / "app.env"
    file.write_text(f"TOKEN={SECRET}")
    file.chmod(0o600)
    with Family(public_place) as host:
        fields = f"environment=clean env_file={file} env=LANG=C"
        fields += f" user={user}" if user else ""
        host.write(
            f'{NEVER} name=job command="{ENVIRONMENT}" stdout=file:{public_place}/{{name}} {fields}'
        )
        host.start(env={**PATH, "HOME": "/krond", "OWN": "krond"})
        entry = pwd.getpwnam(user or "root")
        assert seen(host, "job") == {
            b"HOME": os.fsencode(entry.pw_dir),
            b"USER": entry.pw_name.encode(),
            b"LOGNAME": entry.pw_name.encode(),
            b"SHELL": b"/bin/sh",
            b"PATH": b"/usr/bin:/bin",
            b"LANG": b"C",
            b"TOKEN": SECRET.encode(),
        }


def test_the_defaults_of_a_file_hold_for_a_run(tmp_path: Path) -> None:
    file = tmp_path / "app.env"
    file.write_text("A=file")
    with Family(tmp_path) as host:
        host.write(
            f"defaults: env_file={file} env=B=1 stdout=file:{tmp_path}/{{name}} environment=clean",
            f'{NEVER} name=my_job.sh command="{ENVIRONMENT}" env=C=2',
        )
        host.start(env=PATH)
        found = seen(host, "my_job.sh")
        assert (found[b"A"], found[b"B"], found[b"C"]) == (b"file", b"1", b"2")


def test_moving_a_policy_to_the_defaults_is_no_edit(tmp_path: Path) -> None:
    """An edit would owe nothing from before, and a period might be lost."""
    with Family(tmp_path) as host:
        job = "name=job command=/bin/true"
        host.write(f"{NEVER} @policy(deadline=1h) {job}")
        host.start()
        before = host.stored("job")["ledger"]
        host.load("defaults: @policy(deadline=1h)", f"{NEVER} {job}")
        host.load("defaults: @policy(deadline=1h)", f"{NEVER} {job} nice=1")
        assert host.stored("job")["ledger"] == before
