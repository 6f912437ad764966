"""The gateway asks: the only service that talks to people."""
