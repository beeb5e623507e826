"""The commands of kron-operator, a module each."""
