"""Messages and values: the frozen models that all services share. `catalogue` is the page to read
first.
"""
