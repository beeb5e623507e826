"""`kronctl doctor`: its single examinations, and what each of them concludes."""
