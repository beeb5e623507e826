"""The output of runs that krond keeps: in files of its own, by a process of its own."""
