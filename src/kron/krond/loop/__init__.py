"""The loop: what krond waits on, how long it works, and what systemd hears of it."""
