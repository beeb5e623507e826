"""The pinger: the process that sends pings, a thread for each, so that krond waits for no server.

It verifies certificates by the system's trust store, follows a redirect to no place that is less
safe, and says no more of a URL than its host. As root it first becomes nobody. It tries each ping
once, and ends with the connection to krond.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401 (loaded on demand, when this process may read it no more)
import http.client
import os
import ssl
import threading
import urllib.request
from contextlib import suppress
from urllib.error import HTTPError, URLError

import kron
from kron.jobs.hooks import is_allowed_url
from kron.krond.notices.wire import LONGEST, Answer, Request, Verdict
from kron.krond.process.sidecar import begin_sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

TIMEOUT_S = 10.0
"""How long a server may be silent."""
NOBODY = 65_534
_PASSING = (408, 425, 429)
"""Answers of a server besides 5xx after which another attempt makes sense."""
_SAME_METHOD = (307, 308)


class _UnsafeRedirectError(Exception):
    pass


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if not is_allowed_url(newurl) or (req.type == "https" and not newurl.startswith("https:")):
            raise _UnsafeRedirectError
        if code in _SAME_METHOD:
            return urllib.request.Request(newurl, req.data, dict(req.headers))  # noqa: S310 (checked)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Pinger:
    def __init__(self) -> None:
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=ssl.create_default_context()), _Redirects
        )
        self._opener.addheaders = [("User-Agent", f"krond/{kron.__version__}")]

    def ask(self, request: Request) -> Answer:
        verdict, text = self._verdict(request)
        return Answer(request.number, verdict, text)

    def _verdict(self, request: Request) -> tuple[Verdict, str]:
        kind = {"Content-Type": "text/plain; charset=utf-8"}
        try:
            asked = urllib.request.Request(request.url, request.body, kind)  # noqa: S310 (checked where it was read)
            with self._opener.open(asked, timeout=TIMEOUT_S):
                return Verdict.DONE, ""
        except HTTPError as error:
            error.close()
            can_pass = error.code >= 500 or error.code in _PASSING
            return Verdict.AGAIN if can_pass else Verdict.LOST, f"the server answers {error.code}"
        except _UnsafeRedirectError:
            return Verdict.LOST, "the server redirects to an address that is not encrypted"
        except URLError as error:
            return _of_connection(error.reason)
        except (OSError, http.client.HTTPException) as error:
            return _of_connection(error)
        except ValueError:
            return Verdict.LOST, "this is not a URL that krond can call"


def _of_connection(error: object) -> tuple[Verdict, str]:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Verdict.LOST, f"its certificate is refused: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return Verdict.AGAIN, "it does not answer"
    if isinstance(error, OSError):
        return Verdict.AGAIN, error.strerror or type(error).__name__
    return Verdict.AGAIN, f"it does not answer as a server does ({type(error).__name__})"


def main() -> None:
    control = begin_sidecar()
    pinger = Pinger()  # reads the trust store while it may
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)

    def serve(request: Request) -> None:
        with suppress(OSError):  # krond is gone
            control.send(pinger.ask(request).packed())

    with suppress(ConnectionResetError):
        while data := control.recv(LONGEST):
            threading.Thread(target=serve, args=(Request.unpacked(data),), daemon=True).start()
    os._exit(0)  # without waiting for threads
