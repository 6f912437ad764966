"""Contacts: an agent that finds people in an address book and writes to them, and asks when it is
not sure whom.
"""
