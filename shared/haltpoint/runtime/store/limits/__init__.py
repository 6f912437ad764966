"""What chains and workers share: the limits of tools, and effects that happen once."""
