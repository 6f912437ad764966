"""For tests of tools and agents, ours and yours: a whole system inside of a test (`harness`), and a
model that says what a script says.
"""
