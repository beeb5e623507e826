"""Pauses: krond decides about no period while the clock or the disk cannot be relied on."""
