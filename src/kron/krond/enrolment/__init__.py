"""Enrolment: which jobs krond looks after, from the configuration, the boot and what was left."""
