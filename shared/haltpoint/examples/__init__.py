"""The example that is installed with Haltpoint."""
