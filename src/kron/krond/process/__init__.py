"""Processes: how a run is started, as which user, where its output goes, and what /proc shows."""
