"""Migrating CronJobs: the KronJob that each becomes, and putting it in the place of the CronJob."""
