"""`make bench`: what the whole system costs, beside a floor of the same messages in raw redis-py,
in one run.
"""
