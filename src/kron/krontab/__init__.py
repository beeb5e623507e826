"""The krontab command: what a person asks of Kron, and what a script asks of it."""
