"""The error of a request that the API server refused or did not answer.

An answer may come from anything on the way: a proxy's page, half an object, nothing. So any part
of a body may be missing.
"""

from __future__ import annotations

from kron.core.errors import Code, KronError, visible
from kron.kube.api_object import Object, member

NOT_FOUND = 404
CONFLICT = 409
"""Another has changed the object since it was read, or an object of that name exists."""

NO_ANSWER = "NoAnswer"
SILENT = "Silent"
MALFORMED = "Malformed"
CREDENTIALS = "Credentials"
"""Our own reasons, besides those of the server: see `ApiError.reason`."""

FIRST_RETRY_S = 0.25
LONGEST_RETRY_S = 10.0

_LONGEST_MESSAGE = 1_000
_LONGEST_WAIT_S = 3_600.0


class ApiError(KronError):
    def __init__(
        self,
        status: int,
        message: str,
        *,
        reason: str = "",
        retry_after_s: float | None = None,
        may_have_happened: bool = False,
        fix: str = "",
        answer: str = "",
    ) -> None:
        super().__init__(Code.API, message, fix)
        self.answer = answer or message
        """What the server said, without the name of the request."""
        self.status = status
        """The HTTP status; 0 if there was no answer, or a malformed one."""
        self.reason = reason
        """The server's reason (`AlreadyExists`), or one of ours if it did not answer."""
        self.retry_after_s = retry_after_s
        self.may_have_happened = may_have_happened
        """Whether a write that failed may have taken effect nevertheless."""


def refusal(
    what: str,
    status: int,
    answer: bytes | Object,
    *,
    retry_after: str | None = None,
    is_write: bool = False,
) -> ApiError:
    """The error for an answer of this status; `what` names the request."""
    body, obj = (answer, json_object(answer)) if isinstance(answer, bytes) else (b"", answer)
    wait_s = _seconds(retry_after)
    if retry_after is None:
        after = member(obj, "details").get("retryAfterSeconds")
        wait_s = _bounded_wait(after) if isinstance(after, int | float) and after else None
    said = _message(obj, body)
    return ApiError(
        status,
        f"{what}: {said} (HTTP {status})",
        reason=_text(obj and obj.get("reason")),
        retry_after_s=wait_s,
        may_have_happened=is_write and status >= 500,
        answer=said,
    )


def no_answer(
    what: str, why: str, *, reason: str = NO_ANSWER, is_sent: bool, fix: str = ""
) -> ApiError:
    """The error for a request without an answer. `is_sent`: a write may have reached the server."""
    message = f"{what}: {_bounded(why)}"
    return ApiError(0, message, reason=reason, may_have_happened=is_sent, fix=fix)


def malformed(what: str, why: str, *, is_sent: bool = False) -> ApiError:
    """The error for an answer that makes no sense."""
    return no_answer(what, why, reason=MALFORMED, is_sent=is_sent)


def is_gone(error: ApiError) -> bool:
    """Whether the API server says that the object does not exist.

    A 404 without a reason is not the API server's, or not about the object: a load balancer's page.
    """
    return error.status == NOT_FOUND and bool(error.reason)


def retry_delay_s(error: ApiError, tries: int) -> float:
    """How long to wait before the next try: as long as the server asks for, at the least."""
    delay_s = min(FIRST_RETRY_S * (1 << min(tries, 10)), LONGEST_RETRY_S)
    return max(delay_s, error.retry_after_s or 0.0)


def json_object(data: bytes) -> Object | None:
    """The JSON object that bytes from elsewhere hold; None if they hold anything else.

    What is nested too deeply for Python is cut off, so that one object of a list cannot hide all
    the others.
    """
    from json import loads

    try:
        value = loads(data)
    except RecursionError:
        from kron.kube.shallow import shallow

        return json_object(shallow(data))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _message(obj: Object | None, body: bytes) -> str:
    message = _text(obj and obj.get("message"))
    if message:
        return message
    text = " ".join(body[: 4 * _LONGEST_MESSAGE].decode(errors="replace").split())
    if not text:
        return "the server gave no reason"
    return f"the answer is not from an API server, it begins {_bounded(text, 200)}"


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


def _text(value: object) -> str:
    return _bounded(value) if isinstance(value, str) else ""


def _bounded(text: str, most: int = _LONGEST_MESSAGE) -> str:
    return visible(text if len(text) <= most else text[: most - 1] + "…")
