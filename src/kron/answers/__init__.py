"""What next, explain, list and diff answer: as data, as JSON documents and as lines of text.

The commands krontab and kronctl ask the questions and print the answers.
"""
