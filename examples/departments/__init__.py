"""Departments of a company: a supervisor that asks which of them is meant, or hands a question to
two.
"""
