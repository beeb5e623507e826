"""kron-operator: makes a Job at the second that was chosen for it, at most one a period."""
