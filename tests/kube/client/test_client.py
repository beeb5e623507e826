"""Requests: what is sent, what is answered, and what every bad answer becomes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from kron.core.errors import Code, KronError
from kron.kube.client import session
from kron.kube.client.access import Access
from kron.kube.client.client import Client
from kron.kube.client.credentials import Credential, Credentials, Secret, StoredCredentials
from kron.kube.client.errors import CREDENTIALS, MALFORMED, NO_ANSWER, SILENT, ApiError
from kron.kube.client.resources import JOBS, KRONJOBS, LEASES, Resource
from kron.waking.clock import Clock
from tests.kube.client.server import (
    Answer,
    FakeServer,
    cut,
    echo,
    expired_event,
    made,
    obj,
    page,
    raw,
    run,
    stall,
    status,
    stream,
)

JOB = made("a", 1)


async def failure(request: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await request
    return caught.value


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "subresource", "path"),
    [
        pytest.param(JOBS, "ns", "a", "", "/apis/batch/v1/namespaces/ns/jobs/a", id="object"),
        pytest.param(JOBS, "ns", "", "", "/apis/batch/v1/namespaces/ns/jobs", id="collection"),
        pytest.param(JOBS, None, "", "", "/apis/batch/v1/jobs", id="all-namespaces"),
        pytest.param(
            KRONJOBS,
            "ns",
            "a.b",
            "status",
            "/apis/kron.io/v1alpha1/namespaces/ns/kronjobs/a.b/status",
            id="subresource",
        ),
        pytest.param(
            JOBS, "..", "a/b?c#", "", "/apis/batch/v1/namespaces/%2E%2E/jobs/a%2Fb%3Fc%23", id="bad"
        ),
    ],
)
def test_a_resource_knows_its_path(
    resource: Resource, namespace: str | None, name: str, subresource: str, path: str
) -> None:
    assert resource.path(namespace, name, subresource) == path


def test_each_verb_sends_its_method_path_and_body() -> None:
    async def test() -> None:
        seen: list[tuple[str, str, int]] = []
        async with (
            FakeServer(otherwise=echo()) as server,
            server.client(observe=lambda *what: seen.append(what)) as client,
        ):
            assert await client.create(JOBS, "ns", JOB) == JOB
            assert await client.replace(JOBS, "ns", "a", JOB) == JOB
            patch = {"status": {"active": None}}
            assert await client.patch(JOBS, "ns", "a", patch, subresource="status") == patch
            await client.delete(JOBS, "ns", "a", uid="u-1", propagation="Foreground")
            server.answers.append(obj(JOB))
            assert await client.get(JOBS, "ns", "a") == JOB
        place = "/apis/batch/v1/namespaces/ns/jobs"
        assert [(request.method, request.path) for request in server.requests] == [
            ("POST", place),
            ("PUT", f"{place}/a"),
            ("PATCH", f"{place}/a/status"),
            ("DELETE", f"{place}/a"),
            ("GET", f"{place}/a"),
        ]
        kinds = [request.headers.get("content-type") for request in server.requests]
        assert kinds[2] == "application/merge-patch+json"
        assert {*kinds[:2], kinds[3]} == {"application/json"}
        options = {"propagationPolicy": "Foreground", "preconditions": {"uid": "u-1"}}
        assert server.requests[3].json == options
        assert {request.headers["user-agent"] for request in server.requests} == {"kron-test"}
        verbs = ["create", "update", "patch", "delete", "get"]
        assert seen == [(verb, "jobs", 200) for verb in verbs]

    run(test())


def test_only_metadata_is_asked_for_where_that_is_enough() -> None:
    async def test() -> None:
        async with FakeServer(otherwise=echo()) as server, server.client() as client:
            await client.create(JOBS, "ns", JOB, is_brief=True)
            await client.create(JOBS, "ns", JOB)
            kinds = [request.headers["accept"] for request in server.requests]
            brief = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
            assert kinds == [brief, "application/json"]

    run(test())


def test_every_answer_is_observed_once_a_watch_when_it_begins() -> None:
    async def test() -> None:
        seen: list[tuple[str, str, int]] = []
        answers = stream(("ADDED", JOB), end="stall"), status(409, "Conflict", "x"), cut()
        async with (
            FakeServer(*answers) as server,
            server.client(observe=lambda *what: seen.append(what)) as client,
        ):
            events = client.events(JOBS, "ns", "7", timeout_s=300, silence_s=5)
            await anext(events)
            assert seen == [("watch", "jobs", 200)]
            await events.aclose()
            await failure(client.create(JOBS, "ns", JOB))
            await failure(client.create(JOBS, "ns", JOB))
            assert seen[1:] == [("create", "jobs", 409), ("create", "jobs", 0)]

    run(test())


def test_the_server_is_told_to_give_up_when_we_do() -> None:
    async def test() -> None:
        async with FakeServer(otherwise=echo()) as server, server.client() as client:
            await client.create(JOBS, "ns", JOB, timeout_s=3)
            told = server.requests[0].query["timeout"]
            assert told.endswith("ms")
            assert 2_000 < int(told.removesuffix("ms")) <= 3_000

    run(test())


@pytest.mark.parametrize(
    ("answer", "status_code", "reason", "may_have_happened", "words"),
    [
        pytest.param(
            status(409, "AlreadyExists", 'jobs "a" already exists'),
            409,
            "AlreadyExists",
            False,
            'create jobs: jobs "a" already exists (HTTP 409)',
            id="exists",
        ),
        pytest.param(
            status(504, "Timeout", "too slow"), 504, "Timeout", True, "too slow", id="gateway"
        ),
        pytest.param(
            status(500, "InternalError", "oh"), 500, "InternalError", True, "oh", id="500"
        ),
        pytest.param(
            raw(b"<html>\x1b[31m<b>Bad Gateway</b>\n</html>", 502),
            502,
            "",
            True,
            "begins <html>\\x1b[31m<b>Bad Gateway</b> </html>",
            id="proxy-page",
        ),
        pytest.param(raw(b"", 403), 403, "", False, "the server gave no reason", id="empty"),
        pytest.param(raw(b'{"mess', 403), 403, "", False, 'begins {"mess', id="half"),
        pytest.param(raw(b"[" * 100_000, 400), 400, "", False, "[[[", id="brackets"),
        pytest.param(raw(b"\xff\xfe\x00" * 9, 400), 400, "", False, "begins", id="junk"),
        pytest.param(
            obj({"reason": 7, "message": ["x"], "details": "no", "code": "x"}, 422),
            422,
            "",
            False,
            "HTTP 422",
            id="wrong-types",
        ),
        pytest.param(raw(b"", 302, Location="http://127.0.0.1:1/"), 302, "", False, "", id="moved"),
        pytest.param(raw(b"<html>login</html>"), 0, MALFORMED, True, "<html>", id="page-as-200"),
        pytest.param(raw(b'{"kind":'), 0, MALFORMED, True, "not a JSON object", id="half-as-200"),
        pytest.param(raw(b"[1]"), 0, MALFORMED, True, "not a JSON object", id="list-as-200"),
        pytest.param(cut(), 0, NO_ANSWER, True, "create jobs: ", id="cut"),
        pytest.param(
            stream(b'{"kind":', end="cut"), 0, NO_ANSWER, True, "create jobs: ", id="cut-in-body"
        ),
    ],
)
def test_a_bad_answer_is_an_api_error_that_says_whether_a_write_may_have_happened(
    answer: Answer, status_code: int, reason: str, may_have_happened: bool, words: str
) -> None:
    async def test() -> None:
        async with FakeServer(answer, answer) as server, server.client() as client:
            error = await failure(client.create(JOBS, "ns", JOB, timeout_s=5))
            assert (error.status, error.reason) == (status_code, reason)
            assert error.may_have_happened is may_have_happened
            assert words in error.message
            assert error.code is Code.API
            read = await failure(client.get(JOBS, "ns", "a", timeout_s=5))
            assert not read.may_have_happened

    run(test())


def test_a_long_message_is_shortened() -> None:
    body = {"message": "m" * 9_000, "reason": "Invalid", "details": {"causes": [7]}}

    async def test() -> None:
        async with FakeServer(obj(body, 422)) as server, server.client() as client:
            error = await failure(client.create(JOBS, "ns", JOB))
            assert len(error.message) < 1_100

    run(test())


@pytest.mark.parametrize(
    ("header", "least_s", "most_s"),
    [
        pytest.param("7", 7, 7, id="seconds"),
        pytest.param("0", 0, 0, id="zero"),
        pytest.param("9" * 50, 3_600, 3_600, id="huge"),
        pytest.param("a date in two minutes", 60, 121, id="date"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0, id="past"),
    ],
)
def test_retry_after_is_read_in_seconds(header: str, least_s: float, most_s: float) -> None:
    if header == "a date in two minutes":
        header = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)

    async def test() -> None:
        answer = status(429, "TooManyRequests", "slow down", Retry_After=header)
        async with FakeServer(answer) as server, server.client() as client:
            error = await failure(client.create(JOBS, "ns", JOB))
            assert error.retry_after_s is not None
            assert least_s <= error.retry_after_s <= most_s
            assert not error.may_have_happened

    run(test())


@pytest.mark.parametrize("header", ["soon", "-1", "1.5.2", "x" * 900, "Wed, 99 Oct 2015"])
def test_a_retry_after_that_does_not_read_is_none(header: str) -> None:
    async def test() -> None:
        answer = status(429, "TooManyRequests", "slow down", Retry_After=header)
        async with FakeServer(answer) as server, server.client() as client:
            error = await failure(client.create(JOBS, "ns", JOB))
            assert error.retry_after_s is None

    run(test())


def test_retry_after_may_come_in_the_body() -> None:
    async def test() -> None:
        body = {"details": {"retryAfterSeconds": 3}}
        async with FakeServer(obj(body, 429)) as server, server.client() as client:
            assert (await failure(client.get(JOBS, "ns", "a"))).retry_after_s == 3

    run(test())


def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    async def test() -> None:
        async with FakeServer(otherwise=stall()) as server, server.client() as client:
            error = await failure(client.create(JOBS, "ns", JOB, timeout_s=0.05))
            assert (error.status, error.reason) == (0, NO_ANSWER)
            assert error.may_have_happened

    run(test())


def test_after_a_silence_the_other_connections_are_used_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A network that has lost one of them has mostly lost all: each would cost a timeout."""

    async def test(trust_s: float, *, are_kept: bool) -> None:
        monkeypatch.setattr(session, "_TRUST_S", trust_s)
        async with FakeServer(otherwise=echo()) as server, server.client() as client:
            await asyncio.gather(*(client.create(JOBS, "ns", JOB) for _ in range(3)))
            before = {request.connection for request in server.requests}
            server.answers.append(stall())
            await failure(client.create(JOBS, "ns", JOB, timeout_s=0.05))
            await client.create(JOBS, "ns", JOB)
            assert (server.requests[-1].connection in before) is are_kept

    run(test(0.0, are_kept=False))
    run(test(60.0, are_kept=True))


@pytest.mark.heavy
def test_a_watch_goes_on_however_often_requests_beside_it_get_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slow webhook holds up creations. The operator must still see what happens."""
    monkeypatch.setattr(session, "_TRUST_S", 0.0)

    async def test() -> None:
        go = asyncio.Event()
        async with FakeServer(stream(ADDED, end="stall", go=go), otherwise=stall()) as server:
            async with server.client() as client:
                events = client.events(JOBS, "ns", "7", timeout_s=300, silence_s=2)
                watched = asyncio.ensure_future(anext(events))
                await server.wait_for_requests(1)
                for _ in range(12):
                    await failure(client.create(JOBS, "ns", JOB, timeout_s=0.02))
                go.set()
                assert await watched == ADDED
                error = await failure(anext(events))
                assert error.reason == SILENT, "and a silence is noticed, as ever"
            assert len({request.connection for request in server.requests}) == 13

    run(test())


def test_connections_that_were_given_up_are_closed_once_nothing_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "_TRUST_S", 0.0)

    async def test() -> None:
        made: list[session.Connections] = []

        class Noted(session.Connections):
            def __init__(self, context: ssl.SSLContext | None) -> None:
                super().__init__(context)
                made.append(self)

        monkeypatch.setattr(session, "Connections", Noted)
        async with FakeServer(otherwise=stall()) as server, server.client() as client:
            for _ in range(3):
                await failure(client.create(JOBS, "ns", JOB, timeout_s=0.02))
            server.otherwise = echo()
            await client.create(JOBS, "ns", JOB)
            assert [each.http.closed for each in made] == [True, True, True, False]

    run(test())


def test_a_server_that_is_not_there_has_done_nothing() -> None:
    async def test() -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        server = FakeServer()
        server.url = f"http://127.0.0.1:{port}"
        async with server.client() as client:
            error = await failure(client.create(JOBS, "ns", JOB))
            assert error.status == 0
            assert not error.may_have_happened

    run(test())


@pytest.mark.heavy
def test_a_request_that_waits_for_its_turn_was_not_made_but_the_lease_has_no_turn_to_wait_for() -> (
    None
):
    async def test() -> None:
        async with FakeServer(stall()) as server, server.client(limit=1) as client:
            server.otherwise = echo()
            first = asyncio.create_task(failure(client.create(JOBS, "ns", JOB, timeout_s=1)))
            await server.wait_for_requests(1)
            waiting = await failure(client.create(JOBS, "ns", JOB, timeout_s=0.05))
            assert not waiting.may_have_happened
            await client.replace(LEASES, "ns", "lease", JOB, timeout_s=5)
            assert not first.done()
            assert (await first).may_have_happened
            await client.create(JOBS, "ns", JOB, timeout_s=5)  # its turn was passed on

    run(test())


def test_a_list_comes_in_pages_of_one_version() -> None:
    async def test() -> None:
        pages = [page([made("a", 1)], 7, "t+/= 1"), page([made("b", 2)], 7)]
        async with FakeServer(*pages) as server, server.client() as client:
            found = [
                (items, version)
                async for items, version in client.pages(JOBS, None, selector="a=b")
            ]
        assert found == [([made("a", 1)], "7"), ([made("b", 2)], "7")]
        first, second = server.requests
        assert (first.query["limit"], first.query["labelSelector"]) == ("500", "a=b")
        assert "resourceVersion" not in first.query  # so the list is consistent
        assert second.query["continue"] == "t+/= 1"

    run(test())


@pytest.mark.parametrize(
    ("second", "code"),
    [
        pytest.param(status(410, "Expired", "continue token is too old"), 410, id="expired"),
        pytest.param(obj({"items": {}}), 0, id="not-a-list"),
        pytest.param(obj({"items": [], "metadata": {}}), 0, id="no-version"),
    ],
)
def test_a_page_that_fails_is_an_error(second: Answer, code: int) -> None:
    async def test() -> None:
        async with FakeServer(page([], 7, "t"), second) as server, server.client() as client:
            pages = client.pages(JOBS, None)
            assert await anext(pages) == ([], "7")
            assert (await failure(anext(pages))).status == code

    run(test())


def test_a_watch_tells_events_until_the_server_ends_it() -> None:
    async def test() -> None:
        added, bookmark = ("ADDED", made("a", 8)), ("BOOKMARK", made("", 9))
        answer = stream(added, b"\n", bookmark)
        async with FakeServer(answer) as server, server.client() as client:
            events = client.events(JOBS, "ns", "7", selector="a", timeout_s=300, silence_s=9)
            assert [event async for event in events] == [added, bookmark]
        query = server.requests[0].query
        assert query["resourceVersion"] == "7"
        assert query["allowWatchBookmarks"] == "true"
        assert query["timeoutSeconds"] == "300"
        assert query["labelSelector"] == "a"

    run(test())


ADDED = ("ADDED", made("a", 8))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("answer", "told", "code", "reason"),
    [
        pytest.param(status(410, "Expired", "old"), 0, 410, "Expired", id="410"),
        pytest.param(stream(ADDED, expired_event()), 1, 410, "Expired", id="410-as-event"),
        pytest.param(stream(("ERROR", {"code": "x"})), 0, 500, "", id="strange-error"),
        pytest.param(stream(ADDED, b'{"type":"ADD', end="cut"), 1, 0, NO_ANSWER, id="cut"),
        pytest.param(stream(ADDED, end="stall"), 1, 0, SILENT, id="silent"),
        pytest.param(stall(), 0, 0, SILENT, id="silent-from-the-start"),
        pytest.param(stream(b"<html>\n"), 0, 0, MALFORMED, id="html"),
        pytest.param(stream(b'{"type":1,"object":{}}\n'), 0, 0, MALFORMED, id="type"),
        pytest.param(stream(b'{"type":"ADDED"}\n'), 0, 0, MALFORMED, id="no-object"),
        pytest.param(stream(b"[" * 99_999 + b"\n"), 0, 0, MALFORMED, id="brackets"),
    ],
)
def test_a_watch_that_goes_wrong_raises_after_what_it_told(
    answer: Answer, told: int, code: int, reason: str
) -> None:
    async def test() -> None:
        async with FakeServer(answer) as server, server.client() as client:
            events = client.events(JOBS, "ns", "7", timeout_s=300, silence_s=0.5)
            for _ in range(told):
                assert await anext(events) == ADDED
            error = await failure(anext(events))
            assert (error.status, error.reason) == (code, reason)

    run(test())


def test_half_a_line_at_the_end_of_a_watch_is_not_an_event() -> None:
    async def test() -> None:
        answer = stream(ADDED, b'{"type":"ADDED","object":{}}')
        async with FakeServer(answer) as server, server.client() as client:
            events = client.events(JOBS, "ns", "7", timeout_s=300, silence_s=5)
            assert [event async for event in events] == [ADDED]

    run(test())


class Passwords(Credentials):
    """Another token each time."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.is_stale = False

    def is_fresh(self, credential: Credential) -> bool:
        return not self.is_stale

    async def read(self) -> Credential:
        await asyncio.sleep(0)  # so that others can come between, as with a real one
        self.is_stale = False
        if not self.tokens:
            raise KronError(Code.CLUSTER, "no token is left", fix="make one")
        return Credential(self.tokens.pop(0))


def with_tokens(server: FakeServer, *tokens: str) -> tuple[Client, Passwords]:
    passwords = Passwords(*tokens)
    access = server.access().replace(credentials=passwords)
    return Client(access, user_agent="kron-test"), passwords


def tokens_sent(server: FakeServer) -> list[str]:
    return [request.headers["authorization"] for request in server.requests]


def test_after_a_401_the_credentials_are_read_again_and_the_request_is_made_once_more() -> None:
    async def test() -> None:
        refused = status(401, "Unauthorized", "who?")
        async with FakeServer(refused, obj(JOB), refused, refused) as server:
            client, _ = with_tokens(server, "one", "two", "three")
            async with client:
                assert await client.get(JOBS, "ns", "a") == JOB
                assert tokens_sent(server) == ["Bearer one", "Bearer two"]
                assert (await failure(client.get(JOBS, "ns", "a"))).status == 401
                assert len(server.requests) == 4

    run(test())


def test_a_hundred_requests_refused_together_read_the_credentials_once() -> None:
    async def test() -> None:
        async with FakeServer() as server:

            async def only_two(request: Any, _: Any) -> Any:
                is_good = request.headers["authorization"] == "Bearer two"
                good, bad = obj(JOB), status(401, "Unauthorized", "who?")
                return await (good if is_good else bad)(request, _)

            server.otherwise = only_two
            client, passwords = with_tokens(server, "one", "two", "three")
            async with client:
                await asyncio.gather(*(client.get(JOBS, "ns", "a") for _ in range(100)))
            assert passwords.tokens == ["three"]

    run(test())


def test_stale_credentials_are_read_again_before_a_request() -> None:
    async def test() -> None:
        async with FakeServer(obj(JOB), obj(JOB)) as server:
            client, passwords = with_tokens(server, "one", "two")
            async with client:
                await client.get(JOBS, "ns", "a")
                passwords.is_stale = True
                await client.get(JOBS, "ns", "a")
            assert tokens_sent(server) == ["Bearer one", "Bearer two"]

    run(test())


def test_credentials_that_cannot_be_read_are_a_request_that_failed() -> None:
    async def test() -> None:
        async with FakeServer() as server:
            client, _ = with_tokens(server)
            async with client:
                error = await failure(client.create(JOBS, "ns", JOB))
            assert (error.reason, error.fix) == (CREDENTIALS, "make one")
            assert not error.may_have_happened
            assert server.requests == []

    run(test())


def test_a_token_file_that_changes_is_read_after_a_401(tmp_path: Path) -> None:
    async def test() -> None:
        file = tmp_path / "token"
        file.write_text("first\n")
        async with FakeServer(obj(JOB), status(401, "", ""), obj(JOB)) as server:
            access = server.access(Secret("tokenFile", path=str(file)))
            async with Client(access, user_agent="x") as client:
                await client.get(JOBS, "ns", "a")
                file.write_text("second\n")
                await client.get(JOBS, "ns", "a")
            assert tokens_sent(server) == ["Bearer first", "Bearer first", "Bearer second"]

    run(test())


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{"])
def test_a_request_that_is_given_up_resets_its_connection(says: bytes) -> None:
    """The kernel would go on sending it: a closed connection may deliver it minutes later."""

    async def test() -> None:
        heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(says)
            try:
                while await reader.read(65536):
                    pass
                heard.set_result("closed")
            except ConnectionResetError:
                heard.set_result("reset")
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        none = Secret("none")
        access = Access(f"http://127.0.0.1:{port}", StoredCredentials(none, none, none, Clock()))
        async with Client(access, user_agent="kron-test") as client:
            error = await failure(client.create(JOBS, "ns", JOB, timeout_s=0.1))
            assert error.may_have_happened
            assert await heard == "reset"
        listening.close()

    run(test())
