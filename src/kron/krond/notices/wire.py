"""What krond and its pinger say to each other: a packet for each ping, and one for its answer."""

from __future__ import annotations

import json
from enum import StrEnum

from kron.core.frozen import Frozen

LONGEST = 2**16


class Verdict(StrEnum):
    """What came of an attempt to deliver a notice."""

    DONE = "done"
    AGAIN = "again"
    """Another attempt may succeed."""
    LOST = "lost"
    """No attempt will."""


class Request(Frozen):
    number: int
    url: str
    body: bytes

    def packed(self) -> bytes:
        return json.dumps([self.number, self.url]).encode() + b"\n" + self.body

    @classmethod
    def unpacked(cls, data: bytes) -> Request:
        head, _, body = data.partition(b"\n")
        number, url = json.loads(head)
        return cls(number, url, body)


class Answer(Frozen):
    number: int
    verdict: Verdict
    text: str
    """Why, for people; never a part of the URL but its host."""

    def packed(self) -> bytes:
        return json.dumps([self.number, self.verdict, self.text]).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Answer:
        number, verdict, text = json.loads(data)
        return cls(number, Verdict(verdict), text)
