"""The executor decides: the only service that writes chain state."""
