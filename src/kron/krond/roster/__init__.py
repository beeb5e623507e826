"""The roster: the jobs that krond looks after, each with its past and its runs."""
