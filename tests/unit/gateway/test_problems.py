"""What is wrong with a request, for people."""

from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel, ConfigDict

from haltpoint_gateway import problems


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    goal: str


def test_an_unknown_field_that_is_called_like_a_secret_is_told_in_words() -> None:
    app = FastAPI()
    problems.install(app)

    @app.post("/tasks")
    def submit(body: Body) -> str:
        return body.goal

    reply = TestClient(app).post("/tasks", json={"goal": 1, "password": "hush-hush"})
    assert reply.status_code == 422
    assert reply.json()["detail"] == "must be a text (goal); no such field (password)"
