"""The definition of the KronJob resource, its rules, and the offline check that goes by both."""
