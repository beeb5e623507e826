"""The plumbing of a command line, which krontab, krond and kronctl share: no command is here."""
