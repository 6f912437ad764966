"""For tests of agents and tools, ours and yours: a model that says what a script says."""
