"""Runs: what one waits for, how it is started, watched and stopped, and how it ended."""
