"""A sink stays the same as the server, whatever the server and the line do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.kube.client.client import Client
from kron.kube.client.errors import MALFORMED, NO_ANSWER, SILENT, ApiError
from kron.kube.client.reflector import Backoff, Reflector, is_newer
from kron.kube.client.resources import JOBS
from tests.kube.client.server import (
    Answer,
    FakeServer,
    Request,
    cut,
    expired_event,
    made,
    obj,
    page,
    raw,
    run,
    status,
    stream,
    until,
)


class Cache:
    """A sink that remembers, and complains of an older object after a newer one."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.calls: list[str] = []

    def put(self, obj: dict[str, Any]) -> None:
        name, version = obj["metadata"]["name"], int(obj["metadata"]["resourceVersion"])
        self.versions[name] = version
        self.calls.append(f"put {name}@{version}")

    def drop(self, obj: dict[str, Any]) -> None:
        name = obj["metadata"]["name"]
        self.versions.pop(name, None)
        self.calls.append(f"drop {name}")

    def keep(self, names: set[tuple[str, str]], namespace: str | None) -> None:
        kept = {name for _, name in names}
        self.versions = {name: at for name, at in self.versions.items() if name in kept}
        self.calls.append(f"keep {' '.join(sorted(kept))} of {namespace}")

    def restored(self) -> None:
        self.calls.append("restored")


class CountedBackoff(Backoff):
    """Short waits, counted."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []
        self.resets = 0

    def next_s(self, asked_s: float | None = None) -> float:
        self.waits.append(asked_s)
        return super().next_s() / 500

    def reset(self) -> None:
        self.resets += 1
        super().reset()


class Scene:
    """A reflector at work on a server of answers."""

    def __init__(self, server: FakeServer, client: Client, silence_s: float) -> None:
        self.server = server
        self.cache = Cache()
        self.failures: list[tuple[int, str]] = []
        """The status and the reason of each."""
        self.backoff = CountedBackoff()
        self.reflector = Reflector(
            client,
            JOBS,
            "ns",
            self.cache,
            silence_s=silence_s,
            observe_failure=lambda error: self.failures.append((error.status, error.reason)),
            backoff=self.backoff,
        )

    def asked(self) -> list[str]:
        """The requests in short: `list`, `list+` for a further page, `watch VERSION`."""
        return [in_short(request) for request in self.server.requests]


def in_short(request: Request) -> str:
    query = request.query
    if "watch" in query:
        return f"watch {query['resourceVersion']}"
    return "list+" if "continue" in query else "list"


@asynccontextmanager
async def scene(*answers: Answer, silence_s: float = 5) -> AsyncIterator[Scene]:
    async with (
        FakeServer(*answers, otherwise=stream(end="stall")) as server,
        server.client() as client,
    ):
        made_scene = Scene(server, client, silence_s)
        running = asyncio.create_task(made_scene.reflector.run())
        try:
            yield made_scene
        finally:
            running.cancel()
            await asyncio.wait([running])
            assert running.cancelled(), running.exception()


A, B, C = made("a", 1), made("b", 2), made("c", 3)
GOING_ON = stream(end="stall")


def test_a_list_is_put_and_kept_before_anybody_is_told_that_it_is_synced() -> None:
    async def test() -> None:
        async with scene(page([A], 5, "more"), page([B], 5)) as s:
            await s.reflector.synced.wait()
            assert s.cache.calls == ["put a@1", "put b@2", "keep a b of ns"]
            await s.server.wait_for_requests(3)
            assert s.asked() == ["list", "list+", "watch 5"]

    run(test())


@pytest.mark.parametrize(
    ("watch", "asked", "failures"),
    [
        pytest.param(stream(("ADDED", made("b", 7))), "watch 7", [], id="ended"),
        pytest.param(
            stream(("ADDED", made("b", 7)), ("BOOKMARK", made("", 20))),
            "watch 20",
            [],
            id="after-a-bookmark",
        ),
        pytest.param(
            stream(("ADDED", made("b", 7)), b'{"type":"ADDED","object":{"meta', end="cut"),
            "watch 7",
            [(0, NO_ANSWER)],
            id="cut-in-a-line",
        ),
        pytest.param(stream(), "watch 5", [], id="ended-at-once"),
        pytest.param(stream(end="cut"), "watch 5", [(0, NO_ANSWER)], id="cut-at-once"),
        pytest.param(
            status(500, "InternalError", "x"), "watch 5", [(500, "InternalError")], id="500"
        ),
        pytest.param(
            status(429, "TooManyRequests", "x"), "watch 5", [(429, "TooManyRequests")], id="429"
        ),
        pytest.param(raw(b"<html>", 503), "watch 5", [(503, "")], id="503-page"),
    ],
)
def test_a_watch_that_ends_is_resumed_from_the_last_version(
    watch: Answer, asked: str, failures: list[tuple[int, str]]
) -> None:
    async def test() -> None:
        async with scene(page([A], 5), watch, GOING_ON) as s:
            await s.server.wait_for_requests(3)
            assert s.asked() == ["list", "watch 5", asked]
            assert s.failures == failures

    run(test())


@pytest.mark.parametrize(
    ("watch", "failure"),
    [
        pytest.param(status(410, "Expired", "too old"), (410, "Expired"), id="410"),
        pytest.param(stream(expired_event()), (410, "Expired"), id="410-as-event"),
        pytest.param(
            status(504, "Timeout", "Too large version"), (504, "Timeout"), id="future-version"
        ),
        pytest.param(status(403, "Forbidden", "no"), (403, "Forbidden"), id="forbidden"),
        pytest.param(stream(b"<html>\n"), (0, MALFORMED), id="junk"),
        pytest.param(stream(("ADDED", {"kind": "Job"})), (0, MALFORMED), id="no-name"),
        pytest.param(stream(("BOOKMARK", {"metadata": 1})), (0, MALFORMED), id="no-version"),
        pytest.param(stream(end="stall"), (0, SILENT), id="silent"),
    ],
)
def test_a_version_that_is_no_use_is_replaced_by_a_list(
    watch: Answer, failure: tuple[int, str]
) -> None:
    async def test() -> None:
        lists = page([A, B], 5), watch, page([B, C], 9)
        async with scene(*lists, silence_s=0.1 if failure == (0, SILENT) else 5) as s:
            await s.server.wait_for_requests(4)
            assert s.asked() == ["list", "watch 5", "list", "watch 9"]
            assert s.failures[0] == failure
            assert s.cache.versions == {"b": 2, "c": 3}
            # b has not changed, so the sink does not get it again.
            assert s.cache.calls[3:] == ["put c@3", "keep b c of ns"]

    run(test())


def test_a_list_that_expires_between_its_pages_begins_anew() -> None:
    async def test() -> None:
        expired = status(410, "Expired", "continue")
        answers = page([A, B], 5, "m"), expired, page([A], 8, "m"), page([C], 8), GOING_ON
        async with scene(*answers) as s:
            await s.reflector.synced.wait()
            assert s.asked()[:4] == ["list", "list+", "list", "list+"]
            assert s.cache.versions == {"a": 1, "c": 3}

    run(test())


def test_a_server_that_is_gone_for_a_while_is_asked_again_and_again() -> None:
    async def test() -> None:
        gone = [cut(), status(503, "ServiceUnavailable", "x"), raw(b"<html>", 502)] * 3
        async with scene(*gone, page([A], 5), GOING_ON) as s:
            await s.reflector.synced.wait()
            assert s.cache.versions == {"a": 1}
            assert {status for status, _ in s.failures} == {502, 503}

    run(test())


def test_a_watch_that_fails_ten_times_is_not_trusted_with_its_version() -> None:
    async def test() -> None:
        failing = [status(500, "InternalError", "x")] * 11
        async with scene(page([A], 5), *failing, page([B], 9), GOING_ON) as s:
            await s.server.wait_for_requests(14)
            assert s.asked() == ["list", *["watch 5"] * 11, "list", "watch 9"]
            assert s.cache.versions == {"b": 2}

    run(test())


def test_a_watch_that_ends_at_once_waits_longer_each_time_and_one_that_told_does_not() -> None:
    async def test() -> None:
        told = stream(("ADDED", made("b", 7)))
        async with scene(page([A], 5), stream(), stream(), told, GOING_ON) as s:
            await s.server.wait_for_requests(5)
            assert s.backoff.waits == [None, None]
            assert s.backoff.resets == 1

    run(test())


def test_the_server_says_how_long_to_wait() -> None:
    async def test() -> None:
        busy = status(429, "TooManyRequests", "x", Retry_After="7")
        async with scene(busy, page([A], 5), busy, GOING_ON) as s:
            await s.server.wait_for_requests(4)
            assert s.backoff.waits == [7, 7]

    run(test())


def test_a_deletion_during_the_break_reaches_the_sink() -> None:
    async def test() -> None:
        answers = page([A, B], 5), stream(expired_event()), page([B], 9), GOING_ON
        async with scene(*answers) as s:
            await until(lambda: s.cache.versions == {"b": 2})
            assert s.cache.calls[-1] == "keep b of ns"

    run(test())


def test_a_deletion_is_told_and_what_is_made_anew_is_put() -> None:
    async def test() -> None:
        events = [("DELETED", made("a", 7)), ("ADDED", made("a", 8)), ("MODIFIED", made("a", 9))]
        async with scene(page([A], 5), stream(*events, end="stall")) as s:
            await until(lambda: s.cache.versions == {"a": 9})
            assert s.cache.calls[2:] == ["drop a", "put a@8", "put a@9"]

    run(test())


def test_a_restored_server_with_lower_versions_is_believed_after_a_list() -> None:
    async def test() -> None:
        answers = page([made("a", 90)], 100), stream(expired_event()), page([made("a", 40)], 50)
        async with scene(*answers, stream(("MODIFIED", made("a", 51)), end="stall")) as s:
            await until(lambda: s.cache.versions == {"a": 51})
            assert s.cache.calls.index("restored") < s.cache.calls.index("put a@40")
            assert s.cache.calls.count("restored") == 1

    run(test())


def test_a_restored_server_is_believed_though_it_was_listed_beside_the_watch_before() -> None:
    """As one does that loses the lease when the server goes and gets it when it is back."""

    async def test() -> None:
        go = asyncio.Event()
        answers = [
            page([made("a", 90)], 100),
            gated(stream(expired_event()), go),
            page([made("a", 40)], 50),
            page([made("a", 40)], 50),
        ]
        async with scene(*answers, stream(("MODIFIED", made("a", 51)), end="stall")) as s:
            await until(lambda: s.cache.versions == {"a": 90})
            await s.server.wait_for_requests(2)
            await s.reflector.refresh()
            assert s.cache.versions == {"a": 90}
            go.set()
            await until(lambda: s.cache.versions == {"a": 51})
            assert "restored" in s.cache.calls

    run(test())


def gated(answer: Answer, go: asyncio.Event) -> Answer:
    async def wait(request: Any, connection: Any) -> Any:
        await go.wait()
        return await answer(request, connection)

    return wait


@pytest.mark.parametrize(
    ("listed", "list_version", "told", "expected"),
    [
        pytest.param([made("a", 6)], 9, [("MODIFIED", made("a", 11))], {"a": 11}, id="older-list"),
        pytest.param([made("a", 8)], 9, [("MODIFIED", made("a", 7))], {"a": 8}, id="newer-list"),
        pytest.param([], 9, [("ADDED", made("b", 10))], {"b": 10}, id="made-after-the-list"),
        pytest.param([made("a", 6)], 9, [("DELETED", made("a", 10))], {}, id="gone-after-the-list"),
        pytest.param([], 9, [("MODIFIED", made("a", 8))], {}, id="gone-before-the-list"),
        pytest.param(
            [made("a", 8)],
            9,
            [("DELETED", made("a", 7)), ("ADDED", made("a", 8))],
            {"a": 8},
            id="made-anew-before-the-list",
        ),
        pytest.param(
            [made("a", 6)],
            9,
            [("DELETED", made("a", 10)), ("ADDED", made("a", 12))],
            {"a": 12},
            id="made-anew-after-the-list",
        ),
    ],
)
@pytest.mark.parametrize("order", ["watch-first", "list-first"])
def test_a_refresh_beside_a_watch_never_goes_back(
    order: str,
    listed: list[dict[str, Any]],
    list_version: int,
    told: list[Any],
    expected: dict[str, int],
) -> None:
    async def test() -> None:
        tell, answer = asyncio.Event(), asyncio.Event()
        # The mark comes last, so that the test knows when everything has arrived.
        watch = stream(*told, ("ADDED", made("mark", 99)), end="stall", go=tell)
        async with scene(page([A], 5), watch, gated(page(listed, list_version), answer)) as s:
            await s.server.wait_for_requests(2)
            refreshing = asyncio.create_task(s.reflector.refresh())
            await s.server.wait_for_requests(3)
            if order == "watch-first":
                tell.set()
                await until(lambda: "mark" in s.cache.versions)
                answer.set()
                await refreshing
            else:
                answer.set()
                await refreshing
                tell.set()
                await until(lambda: "mark" in s.cache.versions)
            assert s.cache.versions == expected | {"mark": 99}
            puts = [call for call in s.cache.calls if call.startswith("put a@")]
            assert puts == sorted(puts, key=lambda call: int(call.removeprefix("put a@")))

    run(test())


def test_a_watch_that_is_behind_a_list_under_way_does_not_put_what_is_older() -> None:
    async def test() -> None:
        tell, answer = asyncio.Event(), asyncio.Event()
        events = ("MODIFIED", made("a", 7)), ("ADDED", made("mark", 99))
        watch = stream(*events, end="stall", go=tell)
        first, second = page([made("a", 8)], 9, "more"), gated(page([B], 9), answer)
        async with scene(page([A], 5), watch, first, second) as s:
            await s.server.wait_for_requests(2)
            refreshing = asyncio.create_task(s.reflector.refresh())
            await until(lambda: s.cache.versions == {"a": 8})
            tell.set()
            await until(lambda: "mark" in s.cache.versions)
            answer.set()
            await refreshing
            assert s.cache.versions == {"a": 8, "b": 2, "mark": 99}
            assert "put a@7" not in s.cache.calls

    run(test())


def test_a_refresh_does_not_move_the_watch() -> None:
    async def test() -> None:
        go = asyncio.Event()
        answers = page([A], 5), stream(("ADDED", made("b", 7)), go=go), page([A], 50), GOING_ON
        async with scene(*answers) as s:
            await s.server.wait_for_requests(2)
            await s.reflector.refresh()
            go.set()
            await s.server.wait_for_requests(4)
            assert s.asked() == ["list", "watch 5", "list", "watch 7"]

    run(test())


def test_a_refresh_that_fails_says_so_and_leaves_the_sink_as_it_was() -> None:
    async def test() -> None:
        refused = status(503, "ServiceUnavailable", "x")
        async with scene(page([A], 5), GOING_ON, refused) as s:
            await s.server.wait_for_requests(2)
            with pytest.raises(ApiError):
                await s.reflector.refresh()
            assert s.cache.versions == {"a": 1}

    run(test())


def test_a_list_of_objects_without_names_is_not_taken() -> None:
    async def test() -> None:
        items = {"items": [{"metadata": None}], "metadata": {"resourceVersion": "4"}}
        async with scene(obj(items), page([A], 5), GOING_ON) as s:
            await s.reflector.synced.wait()
            assert s.cache.versions == {"a": 1}

    run(test())


def test_a_wait_doubles_to_its_bound_with_jitter_and_begins_anew_after_a_success() -> None:
    backoff = Backoff()
    waits = [backoff.next_s() for _ in range(9)]
    bounds = [0.25, 0.5, 1, 2, 3, 3, 3, 3, 3]
    assert all(bound / 2 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True))
    backoff.reset()
    assert backoff.next_s() <= 0.25
    assert len({Backoff().next_s() for _ in range(9)}) > 1


@pytest.mark.parametrize(
    ("asked_s", "least_s", "most_s"), [(None, 0, 0.25), (0.0, 0, 0.25), (7, 7, 7), (9_999, 60, 60)]
)
def test_a_wait_is_what_the_server_asks_for_within_bounds(
    asked_s: float | None, least_s: float, most_s: float
) -> None:
    assert least_s <= Backoff().next_s(asked_s) <= most_s


@given(st.integers(0, 10**30), st.integers(0, 10**30), st.integers(0, 3))
def test_versions_are_compared_as_numbers(one: int, other: int, zeros: int) -> None:
    assert is_newer("0" * zeros + str(one), str(other)) == (one > other)


@given(st.text(), st.text())
def test_versions_that_are_no_numbers_are_newer_when_they_differ(one: str, other: str) -> None:
    assert is_newer(f"x{one}", f"x{other}") == (one != other)
