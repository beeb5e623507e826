"""The KronJob resource as values: what it may say, what it means, what is remembered. Pure."""
