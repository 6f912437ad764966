"""The command line. Modules here import only typer at the top: `haltpoint --help` must answer at
once.
"""
