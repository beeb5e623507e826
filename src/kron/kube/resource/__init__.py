"""The KronJob resource as values: its schema, its meaning, its status and its Jobs. No I/O."""
