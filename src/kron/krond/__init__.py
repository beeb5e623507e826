"""krond, the host daemon: it starts each run at its chosen second, at most once a period."""
