"""What krond remembers between two starts: one file a job, the proofs of runs, and a lock."""
