"""A FastStream service beside Haltpoint: its own stream in, tasks out, facts back."""
