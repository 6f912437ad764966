"""What is read in words: patterns over the goal, who works on it, and, as a hint only, sentences of an answer."""
