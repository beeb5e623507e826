"""The API server: access, credentials, requests, watches, and the lease that elects a leader."""
