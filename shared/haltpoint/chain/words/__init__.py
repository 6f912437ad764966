"""What is read in words, as a hint only: patterns over the goal, and sentences of an answer."""
