"""Processes: how a run is started, as whom, where its output goes, and what /proc says of it."""
