"""Skills: folders with a SKILL.md that are offered as tools (CONTRACT A)."""
