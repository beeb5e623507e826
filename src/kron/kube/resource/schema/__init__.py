"""The fields of a KronJob, declared once: the definition, the offline check and the docs follow."""
