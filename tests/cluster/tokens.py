"""Tokens of service accounts, signed here with the API server's own key.

The API server gives none for less than ten minutes, and a test has no ten minutes to see one
expire. The arithmetic is that of ECDSA on P-256 with SHA-256; nothing here guards a secret.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from pathlib import Path

ISSUER = "https://kubernetes.default.svc"
LEEWAY_S = 60
"""The API server takes a token for so long after it has expired."""
REMEMBERED_S = 10
"""And one that it has taken, for so long without looking again."""

_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_HEAD = bytes.fromhex("30310201010420")  # a sequence: version 1, 32 bytes of key, ...
_TAIL = bytes.fromhex("a00a06082a8648ce3d030107")  # ... and that the curve is P-256

_Point = tuple[int, int]


def signing_key() -> str:
    """A new private key as the PEM text that the API server reads."""
    encoded = base64.b64encode(_HEAD + os.urandom(32) + _TAIL).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{encoded}\n-----END EC PRIVATE KEY-----\n"


def mint(key: Path, namespace: str, name: str, uid: str, lifetime_s: int) -> str:
    """A token that is refused after that time, and after REMEMBERED_S if it was in use; a lifetime
    of 0 is over already."""
    now_s = int(time.time())
    claims = {
        "iss": ISSUER,
        "aud": [ISSUER],
        "sub": f"system:serviceaccount:{namespace}:{name}",
        "iat": now_s - 3600,
        "nbf": now_s - 3600,
        "exp": now_s + lifetime_s - LEEWAY_S,
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
    }
    signed = f"{_part({'alg': 'ES256'})}.{_part(claims)}"
    return f"{signed}.{_text(_signature(_private(key), signed.encode()))}"


def _part(value: object) -> str:
    return _text(json.dumps(value).encode())


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _private(key: Path) -> int:
    content = base64.b64decode(key.read_text().splitlines()[1])
    return int.from_bytes(content[len(_HEAD) : len(_HEAD) + 32])


def _signature(private: int, message: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(message).digest())
    once = int.from_bytes(os.urandom(40)) % (_N - 1) + 1
    point = _times(once, _G)
    assert point is not None
    r = point[0] % _N
    s = pow(once, -1, _N) * (digest + r * private) % _N
    return r.to_bytes(32) + s.to_bytes(32)


def _times(number: int, point: _Point | None) -> _Point | None:
    total: _Point | None = None
    while number:
        if number & 1:
            total = _plus(total, point)
        point = _plus(point, point)
        number >>= 1
    return total


def _plus(one: _Point | None, other: _Point | None) -> _Point | None:
    """None is the point at infinity."""
    if one is None or other is None:
        return one or other
    if one[0] == other[0] and (one[1] + other[1]) % _P == 0:
        return None
    if one == other:
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, _P)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, _P)
    x = (slope * slope - one[0] - other[0]) % _P
    return x, (slope * (one[0] - x) - one[1]) % _P
