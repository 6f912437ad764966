"""Numbers of things in sentences for people."""


def count(number: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
