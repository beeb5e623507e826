"""What follows from the API server's answer to the creation of a Job. Decides, does nothing."""

from __future__ import annotations

from enum import StrEnum

from kron.kube.client.errors import CONFLICT, ApiError

DENIED = "Denied"
"""The word for an answer by which a webhook or a policy said no."""
INVALID_TEMPLATE = "InvalidTemplate"
"""The word for an answer that is about what the Job says, and so what its template does."""
_FORBIDDEN = 403
_ABOUT_CONTENT = frozenset((400, 413, 422))
_REFUSALS = frozenset((400, 404, 405, 406, 413, 415, 422))


class Verdict(StrEnum):
    EXISTS = "exists"
    """A Job of that name exists. The caller has to find out whose it is."""
    AGAIN = "again"
    """It may succeed later: no answer, no quota, too many requests, a fault of the server."""
    NEVER = "never"
    """The server has refused this Job, and would again."""


def judge(error: ApiError) -> Verdict:
    if error.status == CONFLICT and error.reason == "AlreadyExists":
        return Verdict.EXISTS
    # An answer without a reason is not the API server's: a load balancer's 404 will pass.
    is_refused = error.status in _REFUSALS and bool(error.reason)
    if is_refused or _is_denied(error) or is_terminating(error):
        return Verdict.NEVER
    return Verdict.AGAIN


def refuses_template(error: ApiError) -> bool:
    """Whether the answer is about what the template says, not about rights, quotas or a namespace.

    A webhook that does not support dry runs leads to a bad request, too.
    """
    if "does not support dry run" in error.message:
        return False
    return _is_denied(error) or (error.status in _ABOUT_CONTENT and bool(error.reason))


def is_transient(error: ApiError) -> bool:
    """Whether the server did not answer, or may answer otherwise in a moment."""
    return error.status in {0, 429} or error.status >= 500


def is_terminating(error: ApiError) -> bool:
    """Whether the namespace is being deleted, so that nothing is created in it any more."""
    return error.status == _FORBIDDEN and "because it is being terminated" in error.message


def reason_word(error: ApiError) -> str:
    """The answer in one word, as conditions have it."""
    if error.status == 0:
        return "Unreachable"
    if "exceeded quota" in error.message:
        return "QuotaExceeded"
    if is_terminating(error):
        return "NamespaceTerminating"
    if _is_denied(error):
        return DENIED
    if refuses_template(error):
        return INVALID_TEMPLATE
    is_word = error.reason.isascii() and error.reason.isalpha()
    return error.reason if is_word else "Refused"


def _is_denied(error: ApiError) -> bool:
    """Whether a webhook or a policy denied it. A webhook that could not be reached did not."""
    message = error.message
    by_webhook = 'admission webhook "' in message and "denied the request" in message
    return by_webhook or ("ValidatingAdmissionPolicy '" in message and "denied request" in message)
