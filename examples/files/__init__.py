"""Files: an agent that writes, edits and deletes files in one folder, which no path leaves."""
