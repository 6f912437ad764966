"""What is read in words: patterns over the goal, and who works on it."""
