"""What the API server answered instead of what was asked for, or that it did not answer.

An answer may come from anything on the way: a proxy's page, half an object, nothing. So a body
is read for what it holds and never trusted to hold it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kron.core.errors import Code, KronError, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXPIRED = 410
"""The version asked for is no longer kept: list anew."""

NO_ANSWER = "NoAnswer"
SILENT = "Silent"
MALFORMED = "Malformed"
CREDENTIALS = "Credentials"
"""Reasons of our own, beside those of the server's: see `ApiError.reason`."""

_LONGEST_MESSAGE = 1_000
_MOST_CAUSES = 20
_LONGEST_WAIT_S = 3_600.0


class ApiError(KronError):
    """A request that failed."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        reason: str = "",
        causes: tuple[str, ...] = (),
        retry_after_s: float | None = None,
        may_have_happened: bool = False,
        fix: str = "",
    ) -> None:
        super().__init__(Code.API, message, fix)
        self.status = status
        """The HTTP status; 0 if there was no answer, or none that reads."""
        self.reason = reason
        """The server's word for it (`AlreadyExists`), or one of ours if it did not answer."""
        self.causes = causes
        """The fields that are wrong, each with what is wrong with it."""
        self.retry_after_s = retry_after_s
        self.may_have_happened = may_have_happened
        """Whether a write that failed may have been made all the same."""


def refusal(
    what: str, status: int, body: bytes, *, retry_after: str | None, is_write: bool
) -> ApiError:
    """The error that an answer of this status and body is; `what` says what was asked for."""
    return _error(what, status, _status_object(body), body, retry_after, is_write)


def refusal_of_event(what: str, obj: Mapping[str, Any]) -> ApiError:
    """The error that an ERROR event of a watch is. Its HTTP answer was 200 long ago."""
    code = obj.get("code")
    status = code if isinstance(code, int) and 400 <= code <= 599 else 500
    return _error(what, status, obj, b"", None, is_write=False)


def no_answer(
    what: str, why: str, *, reason: str = NO_ANSWER, is_sent: bool, fix: str = ""
) -> ApiError:
    """The error of a request without an answer. `is_sent`: a write may have reached the server."""
    message = f"{what}: {_bounded(why)}"
    return ApiError(0, message, reason=reason, may_have_happened=is_sent, fix=fix)


def _error(
    what: str,
    status: int,
    obj: Mapping[str, Any] | None,
    body: bytes,
    retry_after: str | None,
    is_write: bool,
) -> ApiError:
    details = _mapping(obj and obj.get("details"))
    wait_s = _seconds(retry_after)
    if wait_s is None and retry_after is None:
        after = details.get("retryAfterSeconds")
        wait_s = _bounded_wait(after) if isinstance(after, int | float) and after else None
    return ApiError(
        status,
        f"{what}: {_message(obj, body)} (HTTP {status})",
        reason=_text(obj and obj.get("reason")),
        causes=_causes(details),
        retry_after_s=wait_s,
        may_have_happened=is_write and status >= 500,
    )


def _status_object(body: bytes) -> Mapping[str, Any] | None:
    from json import loads

    try:
        obj = loads(body)
    except (ValueError, RecursionError):
        return None
    return obj if isinstance(obj, dict) else None


def _message(obj: Mapping[str, Any] | None, body: bytes) -> str:
    message = _text(obj and obj.get("message"))
    if message:
        return message
    text = " ".join(body[: 4 * _LONGEST_MESSAGE].decode(errors="replace").split())
    if not text:
        return "the server gave no reason"
    return f"not an answer of an API server, it begins {_bounded(text, 200)}"


def _causes(details: Mapping[str, Any]) -> tuple[str, ...]:
    causes = details.get("causes")
    if not isinstance(causes, list):
        return ()
    return tuple(map(_cause, filter(None, map(_mapping, causes[:_MOST_CAUSES]))))


def _cause(cause: Mapping[str, Any]) -> str:
    field, message = _text(cause.get("field")), _text(cause.get("message"))
    return f"{field}: {message}" if field and message else message or _text(cause.get("reason"))


def _seconds(retry_after: str | None) -> float | None:
    """A Retry-After header: seconds, or the HTTP date from which to try again."""
    if not retry_after or len(retry_after) > 60:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return _bounded_wait(int(retry_after))
    import time
    from email.utils import parsedate_to_datetime

    try:
        return _bounded_wait(parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError):
        return None


def _bounded_wait(seconds: float) -> float:
    # min() takes its first argument over a NaN.
    return max(0.0, min(_LONGEST_WAIT_S, seconds))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return _bounded(value) if isinstance(value, str) else ""


def _bounded(text: str, most: int = _LONGEST_MESSAGE) -> str:
    return visible(text if len(text) <= most else text[: most - 1] + "…")
