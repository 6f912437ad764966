"""Examples that are installed with Haltpoint."""
