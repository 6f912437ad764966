"""Notices: people hear of questions without looking."""
