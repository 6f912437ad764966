"""Who may do what: keys, and people behind a single sign-on."""
