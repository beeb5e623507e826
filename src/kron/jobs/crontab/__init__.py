"""Crontabs: read as Debian's cron reads them, and turned into krontab lines."""
