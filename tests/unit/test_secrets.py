"""Secrets: by their name, by their form, by the type of a parameter; and what only looks like
one.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel, SecretStr

from haltpoint.contracts.reasons import SourceKind
from haltpoint.contracts.secret_forms import names_secret
from haltpoint.contracts.secrets import (
    starred,
    typed_in,
    unstarred,
    without_secrets,
)
from tests.support.secret_forms import FORMS, HARMLESS, secret_in

NAMES = (
    "password passphrase passwd pwd passcode token access_token refreshToken secret client_secret "
    "api_key apiKey X-Api-Key OPENAI_API_KEY accessKey private_key signing-key authorization "
    "Authorization-Header cookie Set-Cookie credential credentials card card_number cardNumber "
    "cvv cvc2 iban ssn customerSsn otp otp_code pin userPin pin_code "
    "new_password password2 passwordConfirmation db_pass smtpPass pw passwort password_confirm "
    "creditcard bearer jwt tokens mfa_code 2faCode private_key_pem backupCodes"
)
OTHERS = (
    "max_tokens input_tokens tokens_used token_count card_id pin_id password_policy cookie_consent "
    "author authority authors opinion discard postcard cardinal shopping_cart key keys public_key "
    "session_id sessionId ssn_country "
    "spin pinned passenger compass secretary tokenizer number status access_key_id iban_country"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_of_a_secret_is_known_in_any_spelling(name: str) -> None:
    assert names_secret(name)
    assert starred({name: "Some Value 12"})[name].startswith("***")
    assert "Some" not in without_secrets(f"it failed: {name}='Some Value 12'")
    assert "Some" not in without_secrets(json.dumps({"text": json.dumps({name: "Some Value"})}))


@pytest.mark.parametrize("name", OTHERS.split())
def test_a_name_that_only_has_such_a_word_in_it_is_none(name: str) -> None:
    assert not names_secret(name)
    assert starred({name: "Some Value"}) == {name: "Some Value"}
    assert without_secrets(f"{name}=Some") == f"{name}=Some"


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_of_a_known_form_is_starred_wherever_it_is(form: str) -> None:
    text, secret = FORMS[form], secret_in(FORMS[form])
    around = f"Server said <{text}>, and stopped."
    for shown in (without_secrets(around), json.dumps(starred({"note": [around]}))):
        assert secret not in shown
        assert "***" in shown
        assert "and stopped." in shown


@pytest.mark.parametrize(
    "text",
    [
        "Cookie: theme=dark; sid=Zq9x",
        "Proxy-Authorization: NTLM Zq9x",
        "password: correct Zq9x",
        "{'password': b'Zq9x'}",
        "mysql --password Zq9x -h db",
        "<db:password a='b'>Zq9x</db:password>",
        '<add key="ApiKey" value="Zq9x"/>',
        '{\\"name\\": \\"Authorization\\", \\"value\\": \\"Zq9x\\"}',
        "Headers([('accept', 'text'), ('x-api-key', 'Zq9x')])",
        "user[password]=Zq9x",
        "password: |\n  Zq9x",
        "token=SecretStr('Zq9x')",
        "the token 'Zq9x' is wrong",
        "**Password:** Zq9x",
        "**Password**: Zq9x",
        "`password`: `Zq9x`",
        "password：Zq9x",
    ],
)
def test_a_name_gives_its_value_in_every_way_of_writing(text: str) -> None:
    assert "Zq9x" not in without_secrets(text)


def test_headers_and_entries_name_their_values() -> None:
    entries = {"headers": [{"name": "Authorization", "value": "Zq9x"}, ["X-Api-Key", "Yq9xxx"]]}
    shown = starred({**entries, "why": "neither Zq9x nor Yq9xxx", "of": {"name": "a", "value": 1}})
    assert shown == {
        "headers": [{"name": "Authorization", "value": "***"}, ["X-Api-Key", "***"]],
        "why": "neither *** nor ***",
        "of": {"name": "a", "value": 1},
    }


def test_a_count_of_tokens_is_no_secret() -> None:
    usage = {"tokens": 512, "usage": {"tokens": {"prompt": 3}}, "tests": {"pass": 12, "fail": 0}}
    assert starred(usage) == usage
    for secrets in (["Zq9x"], {"ann": "Zq9x"}):
        assert starred({"tokens": secrets, "db_pass": secrets}) == {
            "tokens": "***",
            "db_pass": "***",
        }


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_is_left_as_it_is(text: str) -> None:
    assert without_secrets(text) == text


def test_the_value_of_a_secret_is_starred_in_the_other_texts_beside_it() -> None:
    shown = starred(
        {
            "arguments": {"password": "hunter2", "pin": 1234, "user": "ann"},
            "error": "no user ann with hunter2, pin 1234; 12345 tried",
        }
    )
    assert shown["arguments"] == {"password": "***", "pin": "***", "user": "ann"}
    assert shown["error"] == "no user ann with ***, pin ***; 12345 tried"


@pytest.mark.parametrize("hidden", ["completed", "2026", "606000", "clarification_needed"])
def test_a_value_that_is_a_word_or_a_number_is_starred_in_texts_alone(hidden: str) -> None:
    view = {
        "arguments": {"token": hidden},
        "status": "completed",
        "next_action": "clarification_needed",
        "at": "2026-11-26T22:55:12.606000Z",
        "id": "c2026606000.s1",
        "why": f"no login with {hidden}",
    }
    expected = {**view, "arguments": {"token": "***"}, "why": "no login with ***"}
    assert starred(view) == expected


@pytest.mark.parametrize("hidden", ["swordfish", "739204", 8317, "x9!z"])
def test_what_a_result_gives_back_is_starred_under_any_name(hidden: str | int) -> None:
    view = {
        "arguments": {"token": hidden},
        "result": {"found": [hidden, f"{hidden}1"], "n": {"of": str(hidden)}},
        "answer": {"text": json.dumps({"found": [hidden]})},
    }
    shown = starred(view)
    assert shown["result"] == {"found": ["***", f"{hidden}1"], "n": {"of": "***"}}
    assert str(hidden) not in shown["answer"]["text"]


def test_a_number_alone_is_starred_as_a_text_of_any_name() -> None:
    assert starred({"arguments": {"pin": 8317}, "text": "8317"})["text"] == "***"


def test_arguments_that_are_called_properties_are_no_schema() -> None:
    assert starred({"properties": {"password": "hunter2"}}) == {"properties": {"password": "***"}}


def test_a_secret_as_a_name_is_starred() -> None:
    assert starred({FORMS["GitHub"]: 1}) == {"***": 1}


def test_of_a_card_and_an_iban_the_end_is_shown() -> None:
    card = {"card": "4111 1111 1111 1234", "iban": "DE89370400440532013000", "cvv": "123"}
    shown = {"card": "***1234", "iban": "***3000", "cvv": "***"}
    assert starred(card) == shown
    text = "pay will run with iban = ***3000. The model wrote this value."
    assert starred({**shown, "question": text}) == {**shown, "question": text}
    both = {"card": {"number": "4111 1111 1111 1234", "cvv": "123"}}
    assert starred(both) == {"card": "***"}


@pytest.mark.parametrize(
    "given",
    [
        "4111 1111 1111 1234 cvv 918",
        "4111111111111234 12/29 9184",
        "3782 822463 10005 9184",
        "4111-1111-1111-1234, 918",
        "PIN 9184",
        "the card of Ann is 9184",
        ["4111111111111234", "9184"],
        9184,
    ],
)
def test_of_a_card_with_something_else_behind_no_end_is_shown(given: Any) -> None:
    assert starred({"card": given}) == {"card": "***"}
    assert starred({"card_number": 4111111111111234}) == {"card_number": "***1234"}
    assert starred({"iban": "DE89 3704 0044 0532 0130 00"}) == {"iban": "***0 00"}


def test_what_is_not_given_is_not_starred() -> None:
    empty = {"password": None, "token": "", "pin": False}
    assert starred(empty) == empty
    text = '{"password": null, "token": true}'
    assert without_secrets(text) == text


def test_a_parameter_typed_as_a_secret_is_one_whatever_its_name() -> None:
    class Card(BaseModel):
        digits: SecretStr

    class Root(RootModel[SecretStr]):
        pass

    class Arguments(BaseModel):
        code: SecretStr
        again: SecretStr | None = None
        cards: list[Card] = []
        words: list[SecretStr] = []
        table: dict[str, SecretStr] = {}
        pair: tuple[SecretStr, str] | None = None
        root: Root | None = None
        other: dict[str, list[Root]] = {}
        user: str = ""

    typed = set(typed_in(Arguments.model_json_schema()))
    assert typed == {"code", "again", "digits", "words", "table", "pair", "root", "other"}
    view = {"code": "HP-201", "arguments": {"code": "xyzzy99", "user": "a"}, "why": "not xyzzy99"}
    assert starred(view, typed=typed) == {
        "code": "HP-201",
        "arguments": {"code": "***", "user": "a"},
        "why": "not ***",
    }


@pytest.mark.parametrize("kind", SourceKind)
def test_what_says_where_a_secret_comes_from_is_none(kind: SourceKind) -> None:
    sources = {"password": {"source": kind.value, "where": ""}}
    view = {"sources": sources, "why": f"The {kind.value} wrote this value."}
    assert starred(view) == view
    assert starred({"password": {"source": "a vault"}}) == {"password": "***"}


def test_a_schema_is_shown_as_it_is() -> None:
    form = {
        "type": "object",
        "properties": {"password": {"type": "string"}, "card": {"$ref": "#/$defs/Card"}},
        "$defs": {"Card": {"type": "object"}},
    }
    assert starred({"form": form, "type": "string"}) == {"form": form, "type": "string"}


def test_an_edit_that_sends_stars_back_changes_nothing_there() -> None:
    original = {"to": "ann", "password": "hunter2", "card": "4111111111111234", "deep": {"pin": 1}}
    shown = starred(original)
    assert unstarred(shown, shown, original) == original
    edit = {**shown, "to": "bob", "card": "***"}
    assert unstarred(edit, shown, original) == {**original, "to": "bob"}
    assert unstarred({"password": "new", "x": "***"}, shown, original) == {
        "password": "new",
        "x": "***",
    }


Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(Json)
def test_stars_leave_what_is_no_secret_and_are_put_once(value: Any) -> None:
    once = starred(value)
    assert starred(once) == once
    assert unstarred(once, once, value) == value


@given(Json, st.sampled_from(NAMES.split()))
def test_json_text_stays_json(value: Any, name: str) -> None:
    json.loads(without_secrets(json.dumps({name: 12, "inner": {name: 'a\\"b'}, "other": 1})))
