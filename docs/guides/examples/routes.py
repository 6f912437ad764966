from typing import Any


def choose(goal: str, context: dict[str, Any], agents: list[str]) -> str | dict[str, Any]:
    if context.get("tier") == "gold":
        return {"target_agent": "technical", "reasoning": "gold customers", "confidence": 0.9}
    return "billing" if "invoice" in goal else "general"
