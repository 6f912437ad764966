"""Connections to servers: where these are, and what is asked of them."""
