"""The tool worker acts: the only service in which tools have effects."""
