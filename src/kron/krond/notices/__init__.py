"""Notices: what krond lets somebody know about runs, by hooks and by mail."""
