"""kronctl: looks at KronJobs, explains, checks and changes them."""
