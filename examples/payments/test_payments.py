"""What a model, a person, a crash and the time do to payments."""

from pathlib import Path

import payments
import pytest

from haltpoint.runs import NotEndedError
from haltpoint.testing.harness import Harness


@pytest.fixture
def bank(harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> payments.Bank:
    """The bank of a system that runs."""
    monkeypatch.setenv("BANK_FILE", str(tmp_path / "bank"))
    harness.start(tools="payments", script=Path(__file__).with_name("model.json"))
    return payments.Bank(tmp_path / "bank")


def test_a_person_chooses_between_two(harness: Harness, bank: payments.Bank) -> None:
    run = harness.run("Pay Sam 500")
    question = run.expects_request("clarification", tool="find_payee")
    assert [option.title for option in question.options] == ["Sam Ash", "Sam Birch"]
    harness.client.answer(question.id, option_id="u-2")
    result = run.result()
    assert [deed.says for deed in result.answer.deeds] == ['Paid 500 cents to "u-2"']
    assert [payment["payee"] for payment in bank.payments()] == ["u-2"]


def test_a_payment_is_made_once_when_its_worker_dies_after_it(
    harness: Harness, bank: payments.Bank
) -> None:
    harness.crash_after("pay")
    run = harness.run("Pay Kim 500")
    harness.skip_time("1m")  # then the tool is asked whether it happened: was_paid
    assert run.result().status == "completed"
    assert [payment["payee"] for payment in bank.payments()] == ["u-3"]


def test_a_payment_is_made_when_its_worker_dies_before_it(
    harness: Harness, bank: payments.Bank
) -> None:
    harness.crash_before("pay")
    run = harness.run("Pay Kim 500")
    assert bank.payments() == []
    harness.skip_time("1m")
    assert run.result().status == "completed"
    assert [payment["payee"] for payment in bank.payments()] == ["u-3"]


@pytest.mark.usefixtures("bank")
def test_a_mail_is_sent_when_the_server_is_back(harness: Harness) -> None:
    run = harness.call("mail", words="Hello")
    with pytest.raises(NotEndedError):  # its next attempt is within ten minutes
        run.result()
    harness.skip_time("1h")
    assert run.result().answer.deeds[0].says == 'Mailed "Hello"'


def test_nothing_is_paid_when_no_one_answers(harness: Harness, bank: payments.Bank) -> None:
    run = harness.run("Pay Sam 500")
    run.expects_request(tool="find_payee")
    harness.skip_time("2d")
    assert run.result().status == "failed"
    assert bank.payments() == []
