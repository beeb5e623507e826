"""The heatmap: when many jobs run, drawn as a week by hour.

This module turns counts into lines of a fixed width, or into rows and documents for scripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kron.console.report import many
from kron.console.terminal import Style
from kron.core.errors import quoted
from kron.core.instant import to_text
from kron.fleet import Busy, Tally
from kron.fleet.tally import HOURS_A_DAY, MINUTE_S, WEEKDAYS

DEFAULT_WEEKS = 4
TITLE = "Schedule Heatmap (UTC)"
GLYPHS = ("·", "░", "▒", "▓", "█")
USUAL_BUCKETS = (1, 2, 4, 7)
"""The least runs for each glyph after the first, as in the fuzzy schedule specification."""
USUAL_UP_TO = 14
"""With more runs than this in a cell, nearly all cells would look the same. Then the buckets are
quarters of the busiest cell."""

_GLYPH_STYLES = ("dim", "green", "cyan", "yellow", "red")
_BAR_WIDTH = 50
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_HEIGHTS = "▁▂▃▄▅▆▇█"
_SHOWN_JOBS = 3
_NAMED_JOBS = 20
"""How many jobs of a busy minute the JSON document names."""
_MARGIN = "    "


def grid_lines(tally: Tally, style: Style, bounds: Sequence[int] | None = None) -> list[str]:
    """Title, hours, seven days, legend; no lines if there are no jobs.

    A cell shows the mean of the weeks, rounded up, so that every run shows.
    """
    if not tally.jobs:
        return []
    cells = [[-(-count // tally.weeks) for count in row] for row in tally.cells]
    bounds = bounds or buckets(max(map(max, cells)))
    hours = "".join(f" {hour:02d}" for hour in range(HOURS_A_DAY))
    return [
        style(TITLE, "bold"),
        "",
        style(f"   {hours}", "dim"),
        *(
            day + "".join(f"  {_glyph(count, bounds, style)}" for count in row)
            for day, row in zip(WEEKDAYS, cells, strict=True)
        ),
        "",
        f"{_MARGIN}{_legend(bounds, style)}",
        *(f"{_MARGIN}{style(line, 'dim')}" for line in _caption(tally)),
    ]


def buckets(most: int) -> tuple[int, ...]:
    """The least runs for each glyph after the first, if the busiest cell has `most` runs."""
    if most <= USUAL_UP_TO:
        return USUAL_BUCKETS
    quarter = most // 4
    unit = 10 ** max(len(str(quarter)) - 2, 0)
    quarter -= quarter % unit  # two digits are enough for a legend
    return (1, quarter, 2 * quarter, 3 * quarter)


def hour_lines(tally: Tally, style: Style) -> list[str]:
    """Runs a day by hour of the day, as 24 bars."""
    days = 7 * tally.weeks
    counts = tally.by_hour
    highest = max(counts)
    lines = ["", style("Runs a day, by hour (UTC)", "bold"), ""]
    for hour, count in enumerate(counts):
        bar = style(_bar(count, highest), _peak_style(count, highest))
        lines.append(f"{hour:02d} {_mean(count, days):>9}  {bar}".rstrip(" "))
    return lines


def minute_lines(
    tally: Tally, busy: Sequence[Busy], names: Mapping[str, str], style: Style
) -> Iterator[str]:
    """Runs by minute of the hour, as a strip, and the busiest minutes of the day."""
    counts = tally.by_minute_of_hour
    highest = max(counts)
    labels = "".join(f":{minute:02d}  " for minute in range(0, 60, 5)).rstrip(" ")
    drawn = (
        style(_HEIGHTS[(count * 8 - 1) // highest], _peak_style(count, highest))
        if count
        else style(GLYPHS[0], "dim")
        for count in counts
    )
    yield from ("", style("Runs by minute of the hour", "bold"), "")
    yield f"{_MARGIN}{style(labels, 'dim')}"
    yield f"{_MARGIN}{''.join(drawn)}"
    if highest:
        share = f"{highest / tally.firings:.1%} of all runs"
        yield f"{_MARGIN}{style(f'most at :{counts.index(highest):02d}: {share}', 'dim')}"
    yield from ("", style("The busiest minutes of the day (UTC)", "bold"), "")
    yield style("TIME      A DAY  BUSIEST DAY  JOBS", "dim")
    for each in busy:
        a_day = f"{_mean(each.firings, 7 * tally.weeks):>9}"
        most = f"{WEEKDAYS[each.weekday]} {_mean(each.most, tally.weeks)}"
        # Shortened and without control characters: a workflow's name is a path.
        shown = [quoted(names[identity])[1:-1] for identity in each.identities[:_SHOWN_JOBS]]
        more = len(each.identities) - len(shown)
        jobs = ", ".join(shown) + (f" and {more:,} more" if more else "")
        yield f"{time_text(each.minute)} {a_day}  {most:11}  {jobs}"


def time_text(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def rows(tally: Tally, *, by_minute: bool, by_hour: bool) -> Iterator[Sequence[str | int]]:
    """The head and the rows of one table of firings: by minute, by hour, or by cell."""
    if by_minute:
        yield "time", "firings"
        for minute, count in enumerate(tally.by_minute_of_day):
            yield time_text(minute), count
    elif by_hour:
        yield "hour", "firings"
        yield from enumerate(tally.by_hour)
    else:
        yield "weekday", "hour", "firings"
        for weekday, row in zip(WEEKDAYS, tally.cells, strict=True):
            for hour, count in enumerate(row):
                yield weekday, hour, count


def document(tally: Tally, busy: Sequence[Busy], names: Mapping[str, str]) -> dict[str, object]:
    """The JSON document; with minutes if the tally has them."""
    return {
        "schema": "krontab.heatmap/1",
        "at": to_text(tally.from_s),
        "until": to_text(tally.until_s),
        "weeks": tally.weeks,
        "jobs": tally.jobs,
        "suspended": tally.suspended,
        "at_boot": tally.at_boot,
        "firings": tally.firings,
        "cells": tally.cells,
        "hours": tally.by_hour,
        "minutes": _minutes(tally, busy, names) if tally.slot_s == MINUTE_S else None,
    }


def _minutes(tally: Tally, busy: Sequence[Busy], names: Mapping[str, str]) -> dict[str, object]:
    return {
        "of_hour": tally.by_minute_of_hour,
        "of_day": tally.by_minute_of_day,
        "busiest": [
            {
                "time": time_text(each.minute),
                "firings": each.firings,
                "weekday": WEEKDAYS[each.weekday],
                "firings_on_weekday": each.most,
                "jobs_total": len(each.identities),
                "jobs": [
                    {"name": names[identity], "identity": identity}
                    for identity in each.identities[:_NAMED_JOBS]
                ],
            }
            for each in busy
        ],
    }


def _glyph(count: int, bounds: Sequence[int], style: Style) -> str:
    level = sum(count >= bound for bound in bounds)
    return style(GLYPHS[level], _GLYPH_STYLES[level])


def _legend(bounds: Sequence[int], style: Style) -> str:
    firsts = [0, *bounds]
    ranges = [
        f"{first:,}" if after == first + 1 else f"{first:,}-{after - 1:,}"
        for first, after in zip(firsts, bounds, strict=False)
    ]
    parts = zip(firsts, [*ranges, f"{bounds[-1]:,}+"], strict=True)
    return "   ".join(f"{_glyph(first, bounds, style)} {text}" for first, text in parts)


def _caption(tally: Tally) -> Iterator[str]:
    since = to_text(tally.from_s)
    if tally.weeks == 1:
        yield f"runs in that hour, in the week from {since}"
    else:
        yield f"runs in that hour, mean of {tally.weeks} weeks from {since}, rounded up"
    others = {"suspended": tally.suspended, "once a boot": tally.at_boot}
    more = ", ".join(f"{count:,} more {what}" for what, count in others.items() if count)
    beside = f" ({more})" if more else ""
    yield f"{many(tally.jobs, 'job')}{beside}, {_mean(tally.firings, tally.weeks)} runs a week"
    day, row = max(zip(WEEKDAYS, tally.cells, strict=True), key=lambda each: max(each[1]))
    most = max(row)
    if most:
        hour = row.index(most)
        yield f"busiest hour: {day} {hour:02d}:00, {_mean(most, tally.weeks)} runs"


def _mean(count: int, of: int) -> str:
    """`1,240` or `3.5`; `<0.1` for a small number that is not zero."""
    if count * 20 < of and count:
        return "<0.1"
    return f"{count / of:,.1f}".removesuffix(".0")


def _bar(count: int, highest: int) -> str:
    """A bar in eighths of a character; empty only for a count of 0."""
    if not count:
        return ""
    full, eighths = divmod(max(count * _BAR_WIDTH * 8 // highest, 1), 8)
    return "█" * full + _EIGHTHS[eighths]


def _peak_style(count: int, highest: int) -> str:
    return "red" if count == highest else "cyan"
