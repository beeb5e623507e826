"""Runs: how one is started, watched, stopped and concluded, and what it may have to wait for."""
