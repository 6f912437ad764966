"""Content management: an agent that finds, makes, changes and deletes the pages of a small site."""
