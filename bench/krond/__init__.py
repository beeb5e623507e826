"""The daemon, as real processes on a real disk: beside Debian's cron, yacron and supercronic."""
