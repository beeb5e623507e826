"""kronctl: lists, explains, checks and changes KronJobs."""
