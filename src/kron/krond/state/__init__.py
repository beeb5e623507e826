"""What krond remembers between two starts: one file for each job, proofs of runs, and a lock."""
