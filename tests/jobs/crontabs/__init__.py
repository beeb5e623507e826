"""Crontabs in the style of distributions and hosting panels, each at the place cron has it."""

from __future__ import annotations

from pathlib import Path

from kron.jobs.crontab.crontab import Crontab, CrontabKind, CrontabPlace, place_of, read_crontab

ROOT = Path(__file__).parent
PATHS = sorted(
    f"/{file.relative_to(ROOT)}"
    for directory in ("etc", "var")
    for file in (ROOT / directory).rglob("*")
    if file.is_file()
)
HOMES = {
    "root": "/root",
    "backup": "/var/backups",
    "nobody": "/nonexistent",
    "alice": "/home/alice",
    "shop": "/home/shop",
    "deploy": "/srv/app",
    "press": "/var/www",
    "oracle": "/opt/oracle",
}


def read(path: str, *, zone: str = "UTC") -> Crontab:
    """A crontab of the corpus, on a host that has all of its users."""
    place = place_of(path) or CrontabPlace(CrontabKind.SYSTEM)
    return read_crontab(
        (ROOT / path.lstrip("/")).read_bytes(), path, place, zone=zone, home_of=HOMES.get
    )


def read_text(
    text: str,
    *,
    kind: CrontabKind = CrontabKind.USER,
    user: str = "",
    zone: str = "UTC",
    path: str = "/c",
) -> Crontab:
    """A crontab that a test writes itself."""
    place = CrontabPlace(kind, user)
    return read_crontab(text.encode(), path, place, zone=zone, home_of=HOMES.get)
