"""Kron on Kubernetes: the KronJob resource, its operator and kronctl. Needs the extra `kube`."""
