"""Settings, where they come from, the policy file, and the catalogue of errors."""
