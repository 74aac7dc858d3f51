import pytest

from streamgauge import errors


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UsageError, 2),
        (errors.NotReady, 3),
        (errors.TrialFailed, 4),
        (errors.TrialInvalid, 4),
        (errors.Interrupted, 130),
    ],
)
def test_each_error_knows_its_exit_code(kind, code):
    assert kind("what", "next").exit_code == code


@pytest.mark.parametrize(
    ("name", "guess"),
    [("kafak", "kafka"), ("KAFKA", "kafka"), ("postgre", "postgres"), ("zzz", None), ("", None)],
)
def test_nearest_name(name, guess):
    assert errors.nearest(name, ["kafka", "postgres"]) == guess


def test_unknown_name_lists_known_and_nearest():
    error = errors.unknown_name("service", "kafak", ["postgres", "kafka"])
    assert error.message == "unknown service 'kafak'"
    assert error.remedy == "Did you mean kafka? Known: kafka, postgres."


def test_unknown_name_guesses_nothing_when_nothing_is_near():
    assert errors.unknown_name("service", "x", []).remedy == "Known: none."
