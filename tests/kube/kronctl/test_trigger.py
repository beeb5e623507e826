"""Triggering a KronJob while its cluster is in trouble."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from kron.kube.kronctl.commands import trigger
from tests.krontab.command import TIME_LIMIT_S
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import kronjob
from tests.kube.kronctl.server import Answer, answering, use

TAKEN = {"kind": "Status", "reason": "AlreadyExists", "message": "taken"}
CHANGED = {"kind": "Status", "reason": "Conflict", "message": "the quota has changed"}
DOWN = {"kind": "Status", "reason": "ServiceUnavailable", "message": "down"}


class Server:
    """It has one KronJob, and gives these answers, in turn, to what is asked of Jobs."""

    def __init__(
        self, *, creates: Sequence[Answer] = (), reads: Sequence[Answer] = (), uid: str = "ours"
    ) -> None:
        self.creates, self.reads, self.uid = list(creates), list(reads), uid
        self.made: list[dict[str, Any]] = []

    def __call__(self, method: str, path: str, body: Any) -> Answer:
        if "/kronjobs/" in path:
            stored = yaml.safe_load(kronjob())
            stored["metadata"] |= {"uid": "u", "resourceVersion": "1"}
            return 200, stored
        if method == "POST":
            body["metadata"] |= {"uid": "ours", "resourceVersion": "1"}
            self.made.append(body)
            return self.creates.pop(0) if self.creates else (201, body)
        if self.reads:
            return self.reads.pop(0)
        metadata = {**self.made[-1]["metadata"], "uid": self.uid}
        conditions = [{"type": "Complete", "status": "True"}]
        return 200, {"metadata": metadata, "status": {"conditions": conditions}}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger, "_LOOK_S", 0.001)


@contextmanager
def used(kronctl: Kronctl, server: Server) -> Iterator[None]:
    with answering(server) as address:
        use(kronctl, address)
        yield


@pytest.mark.parametrize("status", [429, 500, 503, 0])
def test_a_wait_bears_a_server_in_trouble(kronctl: Kronctl, status: int) -> None:
    with used(kronctl, Server(reads=[(status, DOWN)] * 3)):
        ran = kronctl("trigger", "backup", "--wait", "--format", "json")
    assert ran.fine().json["outcome"] == "complete"


def test_a_wait_ends_after_a_minute_of_trouble_and_says_which_job_goes_on(
    kronctl: Kronctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigger, "_PATIENCE_S", 0.05)
    for words in ((), ("--format", "json")):
        server = Server(reads=[(503, DOWN)] * 10_000)
        with used(kronctl, server):
            ran = kronctl("trigger", "backup", "--wait", *words)
        assert ran.code == 2
        assert "get jobs: down (HTTP 503)" in ran.err
        assert server.made[0]["metadata"]["name"] in ran.out
        assert len(server.reads) < 9_999


@pytest.mark.heavy
@pytest.mark.parametrize("words", [(), ("--format", "json")], ids=["text", "json"])
def test_an_interrupted_wait_says_that_the_job_goes_on(
    kronctl: Kronctl, words: tuple[str, ...]
) -> None:
    looks = threading.Event()

    class Running(Server):
        def __call__(self, method: str, path: str, body: Any) -> Answer:
            status, answer = super().__call__(method, path, body)
            if method == "GET" and "/jobs/" in path:
                looks.set()
                return status, {**answer, "status": {}}  # type: ignore[dict-item]
            return status, answer

    server = Running()
    with used(kronctl, server):
        waiting = subprocess.Popen(
            [sys.executable, "-m", kronctl.module, "trigger", "backup", "--wait", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=kronctl.environment,
        )
        try:
            assert looks.wait(TIME_LIMIT_S)
            waiting.send_signal(signal.SIGINT)
            _, err = waiting.communicate(timeout=TIME_LIMIT_S)
        finally:
            waiting.kill()
            waiting.wait()
    name = server.made[0]["metadata"]["name"]
    assert waiting.returncode == 130
    assert err == f"job {name} goes on; follow it with: kubectl logs -n prod -f job/{name}\n"


@pytest.mark.parametrize("status", [401, 403])
def test_a_wait_ends_at_once_if_it_is_refused(kronctl: Kronctl, status: int) -> None:
    server = Server(reads=[(status, {"kind": "Status", "reason": "No", "message": "no"})] * 9)
    with used(kronctl, server):
        ran = kronctl("trigger", "backup", "--wait")
    assert (ran.code, "get jobs: no" in ran.err) == (2, True)
    assert len(server.reads) >= 7


def test_another_job_of_the_same_name_is_not_the_one_that_was_made(kronctl: Kronctl) -> None:
    server = Server(uid="theirs")
    with used(kronctl, server):
        ran = kronctl("trigger", "backup", "--wait", "--format", "json")
    assert (ran.code, ran.json["outcome"]) == (1, "deleted")


@pytest.mark.parametrize("words", [(), ("--name", "mine")], ids=["any-name", "a-name"])
def test_a_conflict_that_passes_is_tried_again(kronctl: Kronctl, words: tuple[str, ...]) -> None:
    server = Server(creates=[(409, CHANGED)] * 2)
    with used(kronctl, server):
        ran = kronctl("trigger", "backup", *words)
    assert ran.code == 0
    assert len(server.made) == 3
    assert ran.lines == [f"job {server.made[-1]['metadata']['name']}"]


def test_a_conflict_that_stays_is_not_called_a_name_that_is_taken(kronctl: Kronctl) -> None:
    with used(kronctl, Server(creates=[(409, CHANGED)] * 99)):
        ran = kronctl("trigger", "backup", "--name", "mine")
    assert (ran.code, "the quota has changed" in ran.err) == (2, True)


def test_a_name_that_is_taken_is_tried_once(kronctl: Kronctl) -> None:
    server = Server(creates=[(409, TAKEN)] * 99)
    with used(kronctl, server):
        ran = kronctl("trigger", "backup", "--name", "mine")
    assert ran.code == 1
    assert 'a Job "prod/mine" exists already (give another --name)' in ran.err
    assert len(server.made) == 1
