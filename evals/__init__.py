"""`make eval`: a small world with its tools, models that misbehave, and a judge of what
happened.
"""
