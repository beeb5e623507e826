"""The history: how every period and manual run ended, for people. No decision depends on it."""
