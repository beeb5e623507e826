"""Distributions: how one draw becomes a place in the window.

A distribution is what the text says; bound to a window it is a `Law` on [0, 1], where 0 is the
window's start and 1 its end. Every law is truncated to the window, never clipped to its edges,
and knows its cumulative distribution too, which is what feasibility is computed from.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from enum import StrEnum

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.tokens import written_keys
from kron.core.window import Mode, Window

_BELOW_ONE = 1.0 - 2.0**-53
_SMALLEST = 2.0**-1074


class Law(ABC):
    """A distribution on [0, 1]. `quantile` may touch or pass the ends by rounding alone."""

    __slots__ = ()

    @abstractmethod
    def quantile(self, u: float) -> float:
        """The place x below which a share u of all choices falls."""

    @abstractmethod
    def cumulative(self, x: float) -> float:
        """The share of all choices that fall below x: the inverse of `quantile`."""


class Distribution(ABC):
    __slots__ = ()
    name = ""
    keys: tuple[tuple[str, str], ...] = ()
    """The parameters of `@dist`, each with its field."""

    @abstractmethod
    def law(self, window: Window) -> Law:
        """The distribution on a window of this shape (at least a second wide)."""

    def parameters(self) -> str:
        """The parameters that are not at their defaults, as `k=v,k=v`."""
        return written_keys(self, self.keys)

    def __str__(self) -> str:
        return f"@dist({','.join(filter(None, (self.name, self.parameters())))})"


class _SameLaw(Distribution, Law):
    """A distribution that is the same law on every window."""

    __slots__ = ()

    def law(self, window: Window) -> Law:
        return self


class Uniform(_SameLaw, Frozen):
    name = "uniform"

    def quantile(self, u: float) -> float:
        return u

    def cumulative(self, x: float) -> float:
        return x


DEFAULT_DISTRIBUTION: Distribution = Uniform()


class SkewEarly(_SameLaw, Frozen):
    """A power law that leans to the start of the window; the larger the shape, the more."""

    shape: float = 2.0
    name = "skewEarly"
    keys = (("shape", "shape"),)

    def quantile(self, u: float) -> float:
        return math.pow(u, self.shape)

    def cumulative(self, x: float) -> float:
        return math.pow(x, 1.0 / self.shape)


class SkewLate(SkewEarly):
    """The mirror image: it leans to the end of the window."""

    name = "skewLate"

    def quantile(self, u: float) -> float:
        return 1.0 - math.pow(1.0 - u, self.shape)

    def cumulative(self, x: float) -> float:
        return 1.0 - math.pow(1.0 - x, 1.0 / self.shape)


class Direction(StrEnum):
    """The end of the window that an exponential distribution leans to."""

    EARLY = "early"
    LATE = "late"


class Exponential(_SameLaw, Frozen):
    """Exponential decay from one end of the window; `rate` is in units of 1/window."""

    rate: float = 1.0
    direction: Direction = Direction.EARLY
    name = "exponential"
    keys = (("lambda", "rate"), ("dir", "direction"))

    def quantile(self, u: float) -> float:
        if self.direction is Direction.LATE:
            return 1.0 - self._early_quantile(1.0 - u)
        return self._early_quantile(u)

    def cumulative(self, x: float) -> float:
        if self.direction is Direction.LATE:
            return 1.0 - self._early_cumulative(1.0 - x)
        return self._early_cumulative(x)

    def _early_quantile(self, u: float) -> float:
        decayed = u * math.expm1(-self.rate)
        # Beyond a rate of 37 the whole decay rounds to -1, and u = 1 is the window's end.
        return 1.0 if decayed <= -1.0 else -math.log1p(decayed) / self.rate

    def _early_cumulative(self, x: float) -> float:
        return math.expm1(-self.rate * x) / math.expm1(-self.rate)


class Anchor(StrEnum):
    """The place in the window that a normal distribution is centred on."""

    NOMINAL = "nominal"
    START = "start"
    MID = "mid"
    END = "end"


class Normal(Distribution, Frozen):
    """A bell around an anchor. What is None follows the window: see `law`."""

    anchor: Anchor | None = None
    sigma_ns: int | None = None
    name = "normal"
    keys = (("mu", "anchor"), ("sigma", "sigma_ns"))

    def law(self, window: Window) -> Law:
        """Defaults: the nominal instant for `around`, else the middle; a sixth of the window."""
        anchor = self.anchor
        if anchor is None:
            anchor = Anchor.NOMINAL if window.mode is Mode.AROUND else Anchor.MID
        sigma_ns = self.sigma_ns or max(window.duration_ns // 6, 1)
        places = {
            Anchor.START: 0.0,
            Anchor.MID: 0.5,
            Anchor.END: 1.0,
            Anchor.NOMINAL: -window.start_offset_s / window.width_s,
        }
        return _TruncatedNormal(places[anchor], sigma_ns / (window.width_s * SECOND_NS))


DISTRIBUTIONS = {each.name: each for each in (Uniform, Normal, SkewEarly, SkewLate, Exponential)}


class _TruncatedNormal(Law):
    """A normal law with mean `mean` and deviation `deviation`, cut to [0, 1]."""

    __slots__ = ("_below", "_deviation", "_inside", "_inverse", "_mean")

    def __init__(self, mean: float, deviation: float) -> None:
        # Imported here because `statistics` costs more start-up time than all of kron.core, and
        # only normal distributions need it. It computes Wichura's AS241, as the contract asks.
        from statistics import NormalDist

        self._mean = mean
        self._deviation = deviation
        self._below = _standard_normal(-mean / deviation)
        self._inside = _standard_normal((1.0 - mean) / deviation) - self._below
        self._inverse = NormalDist().inv_cdf

    def quantile(self, u: float) -> float:
        p = self._below + u * self._inside
        # The inverse is defined between 0 and 1 exclusively; rounding may reach either end.
        p = min(max(p, _SMALLEST), _BELOW_ONE)
        return self._mean + self._deviation * self._inverse(p)

    def cumulative(self, x: float) -> float:
        return (_standard_normal((x - self._mean) / self._deviation) - self._below) / self._inside


def _standard_normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
