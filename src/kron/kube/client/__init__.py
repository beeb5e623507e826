"""The API server: who we are to it, requests, watches, and the lease that elects a leader."""
