"""Whether a call may run: its arguments, what bounds them, the preview, the rules, and a person's
approval.
"""
