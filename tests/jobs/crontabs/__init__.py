"""Crontabs in the style of distributions and hosting panels, each at the place cron has it."""

from __future__ import annotations

from pathlib import Path

from kron.jobs.crontab.crontab import Crontab, owner_of, read_crontab

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
    data = (ROOT / path.lstrip("/")).read_bytes()
    return read_crontab(data, path, owner_of(path) or None, zone=zone, home_of=HOMES.get)


def read_text(
    text: str,
    *,
    owner: str | None = "",
    zone: str = "UTC",
    path: str = "/c",
) -> Crontab:
    """A crontab that a test writes itself."""
    return read_crontab(text.encode(), path, owner, zone=zone, home_of=HOMES.get)
