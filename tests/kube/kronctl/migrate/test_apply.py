"""`kronctl migrate --apply`: whatever fails, never both are active, and a second try completes."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any, cast

import pytest
import yaml

from kron.core.errors import KronError
from kron.core.instant import from_text
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError
from kron.kube.client.resources import CRONJOBS, KRONJOBS, Resource
from kron.kube.kronctl.migrate.apply import PENDING_ANNOTATION, TO_ANNOTATION, apply, planned
from kron.kube.kronctl.migrate.migration import migrate
from tests.kube.kronctl.manifests import cronjob

NOW_S = from_text("2026-03-01T00:00:00Z")


class Server:
    """Two objects, versions, and an answer that gets lost, before or after it took effect."""

    def __init__(self, *, suspended: bool = False) -> None:
        self.cronjob: dict[str, Any] = yaml.safe_load(cronjob("report"))
        self.cronjob["metadata"] |= {"uid": "u-1", "resourceVersion": "1", "generation": 1}
        self.kronjob: dict[str, Any] | None = None
        self.writes = 0
        self.fails_at = 0
        self.takes_effect = False
        self.deletions = 0
        self.moves = 0
        """How many times the CronJob's status changes under our hands."""
        self.hides = False
        """Whether the KronJob appears only after the first look for it."""
        if suspended:
            self.cronjob["spec"]["suspend"] = True

    @property
    def active(self) -> set[str]:
        found = set()
        if not self.cronjob["spec"].get("suspend"):
            found.add("CronJob")
        if self.kronjob and not self.kronjob["spec"]["policy"].get("suspend"):
            found.add("KronJob")
        return found

    async def get(self, resource: Resource, _: str, __: str) -> dict[str, Any]:
        found = self.cronjob if resource is CRONJOBS else self.kronjob
        if found is None or self.hides:
            self.hides = False
            raise ApiError(404, "not found", reason="NotFound")
        return deepcopy(found)

    async def create(self, resource: Resource, _: str, body: dict[str, Any]) -> dict[str, Any]:
        assert resource is KRONJOBS
        if self.kronjob is not None:
            raise ApiError(409, "there already", reason="AlreadyExists")
        with_version = deepcopy(body)
        with_version["metadata"] |= {"uid": "u-2", "resourceVersion": "1"}
        return self._write(kronjob=with_version)

    async def delete(self, resource: Resource, _: str, __: str, *, uid: str) -> None:
        assert resource is KRONJOBS
        assert self.kronjob is not None
        assert self.kronjob["metadata"]["uid"] == uid
        self.kronjob = None
        self.deletions += 1

    async def replace(
        self, resource: Resource, _: str, __: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        assert resource is KRONJOBS
        return self._write(kronjob=deepcopy(body))

    async def patch(
        self, resource: Resource, _: str, __: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        if resource is CRONJOBS and self.moves:
            self.moves -= 1
            version = self.cronjob["metadata"]["resourceVersion"]
            self.cronjob["metadata"]["resourceVersion"] = f"{version}1"
        target = self.cronjob if resource is CRONJOBS else self.kronjob
        assert target is not None
        version = body["metadata"].get("resourceVersion")
        if version not in (None, target["metadata"]["resourceVersion"]):
            raise ApiError(409, "changed", reason="Conflict")
        changed = merged(target, body)
        key = "cronjob" if resource is CRONJOBS else "kronjob"
        return self._write(**{key: changed})

    def _write(self, **changed: dict[str, Any]) -> dict[str, Any]:
        self.writes += 1
        is_lost = self.writes == self.fails_at
        if not is_lost or self.takes_effect:
            for key, value in changed.items():
                setattr(self, key, value)
        assert self.active != {"CronJob", "KronJob"}
        if is_lost:
            raise ApiError(0, "no answer", may_have_happened=True)
        (made,) = changed.values()
        return deepcopy(made)

    def plan(self) -> str:
        """What `--apply --dry-run` says."""
        return asyncio.run(planned(cast("Client", self), *self._read()))

    def apply(self) -> list[str]:
        """A whole `--apply`, from reading the CronJob on."""
        said: list[str] = []
        current, manifest = self._read()
        asyncio.run(apply(cast("Client", self), current, manifest, said.append))
        return said

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        current = deepcopy(self.cronjob)
        manifest = migrate(current, now_s=NOW_S).manifest
        assert manifest is not None
        return current, manifest


def merged(target: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    made = deepcopy(target)
    for key, value in body.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict):
            made[key] = merged(made.get(key, {}), value)
        else:
            made[key] = value
    return made


def assert_done(server: Server, *, active: set[str]) -> None:
    assert server.active == active
    assert server.kronjob is not None
    assert PENDING_ANNOTATION not in server.kronjob["metadata"]["annotations"]
    assert server.cronjob["spec"]["suspend"] is True


def test_the_kronjob_takes_the_place_of_the_cronjob_in_three_steps() -> None:
    server = Server()
    assert server.apply() == ["KronJob created, suspended", "CronJob suspended", "KronJob resumed"]
    assert_done(server, active={"KronJob"})
    assert server.cronjob["metadata"]["annotations"] == {TO_ANNOTATION: "report"}
    assert server.apply() == ["already migrated"]
    assert_done(server, active={"KronJob"})


def test_a_suspended_cronjob_becomes_a_suspended_kronjob() -> None:
    server = Server(suspended=True)
    assert server.apply()[-1] == "KronJob stays suspended, as the CronJob was"
    assert_done(server, active=set())


@pytest.mark.parametrize("suspended", [False, True], ids=["active", "suspended"])
@pytest.mark.parametrize("takes_effect", [False, True], ids=["refused", "answer-lost"])
@pytest.mark.parametrize("write", [1, 2, 3])
def test_a_second_try_goes_on_where_the_first_one_failed(
    write: int, takes_effect: bool, suspended: bool
) -> None:
    server = Server(suspended=suspended)
    server.fails_at, server.takes_effect = write, takes_effect
    try:
        server.apply()
    except ApiError as error:
        assert error.status == 0  # noqa: PT017
    server.apply()
    assert_done(server, active=set() if suspended else {"KronJob"})


@pytest.mark.parametrize(
    ("suspended", "fails_at", "told"),
    [
        pytest.param(
            False,
            1,
            "would create the KronJob, suspended, suspend the CronJob, resume the KronJob",
            id="nothing-done",
        ),
        pytest.param(
            True,
            1,
            "would create the KronJob, suspended, leave the KronJob suspended",
            id="a-suspended-one",
        ),
        pytest.param(
            False,
            2,
            "would replace the KronJob of an earlier try, suspended, suspend the CronJob, "
            "resume the KronJob",
            id="the-kronjob-made",
        ),
        pytest.param(False, 3, "would resume the KronJob", id="the-cronjob-suspended"),
        pytest.param(False, 0, "already migrated", id="all-done"),
    ],
)
def test_a_dry_run_says_what_is_left_to_do(suspended: bool, fails_at: int, told: str) -> None:
    server = Server(suspended=suspended)
    server.fails_at = fails_at
    try:
        server.apply()
    except ApiError as error:
        assert error.status == 0  # noqa: PT017
    writes = server.writes
    assert server.plan() == told
    assert server.writes == writes


def test_a_dry_run_says_that_an_edit_would_be_carried_over() -> None:
    server = Server()
    server.fails_at = 3
    with pytest.raises(ApiError):
        server.apply()
    server.cronjob["spec"]["schedule"] = "0 5 * * *"
    told = "would update the KronJob, suspended, resume the KronJob"
    assert server.plan() == told


def test_a_kronjob_that_another_try_makes_meanwhile_is_gone_on_with() -> None:
    server = Server()
    server.fails_at = 2
    with pytest.raises(ApiError):
        server.apply()
    server.hides = True
    assert server.apply()[0] == "KronJob of an earlier try replaced, suspended"
    assert_done(server, active={"KronJob"})


def test_a_status_that_changes_meanwhile_is_no_obstacle() -> None:
    server = Server()
    server.moves = 3
    server.apply()
    assert_done(server, active={"KronJob"})


def test_an_edit_between_two_tries_is_carried_over() -> None:
    server = Server()
    server.fails_at = 2
    with pytest.raises(ApiError):
        server.apply()
    server.cronjob["spec"]["schedule"] = "0 5 * * *"
    server.cronjob["metadata"] |= {"resourceVersion": "9", "generation": 2}
    server.apply()
    assert server.kronjob is not None
    assert server.kronjob["spec"]["schedule"] == "0 5 * * *"
    assert_done(server, active={"KronJob"})


def test_an_edit_after_the_cronjob_was_suspended_is_carried_over() -> None:
    server = Server()
    server.fails_at = 3
    with pytest.raises(ApiError):
        server.apply()
    server.cronjob["spec"]["schedule"] = "0 5 * * *"
    assert "KronJob updated, suspended" in server.apply()
    assert server.kronjob is not None
    assert server.kronjob["spec"]["schedule"] == "0 5 * * *"
    assert_done(server, active={"KronJob"})


def test_a_kronjob_of_an_earlier_try_does_not_catch_up_with_what_the_cronjob_did_since() -> None:
    """It is created again, so that it owes nothing; but not once the CronJob is suspended."""
    for fails_at, deletions in ((2, 1), (3, 0)):
        server = Server()
        server.fails_at = fails_at
        with pytest.raises(ApiError):
            server.apply()
        server.apply()
        assert server.deletions == deletions
        assert_done(server, active={"KronJob"})


def test_an_edit_in_the_middle_of_a_try_stops_it() -> None:
    server = Server()
    stale = deepcopy(server.cronjob)
    server.cronjob["metadata"] |= {"resourceVersion": "9", "generation": 2}
    manifest = migrate(stale, now_s=NOW_S).manifest
    assert manifest is not None
    with pytest.raises(KronError, match="changed meanwhile"):
        asyncio.run(apply(cast("Client", server), stale, manifest, lambda _: None))
    assert server.active == {"CronJob"}


def test_a_kronjob_of_somebody_else_is_not_touched() -> None:
    server = Server()
    server.kronjob = {
        "metadata": {**server.cronjob["metadata"], "uid": "u-9", "annotations": {}},
        "spec": {"policy": {"suspend": True}},
    }
    for attempt in (server.plan, server.apply):
        with pytest.raises(KronError, match="not made from this CronJob"):
            attempt()
    assert server.writes == 0


def test_who_turned_back_is_not_migrated_again_silently() -> None:
    server = Server()
    server.apply()
    assert server.kronjob is not None
    server.kronjob["spec"]["policy"]["suspend"] = True
    server.cronjob["spec"]["suspend"] = False
    for attempt in (server.plan, server.apply):
        with pytest.raises(KronError, match="its migration was undone"):
            attempt()
    assert server.active == {"CronJob"}
