from pathlib import Path

import pytest

from streamgauge.errors import NotReady, UsageError
from streamgauge.services.addresses import Given
from streamgauge.services.postgres.endpoint import PostgresEndpoint, parse_postgres


def test_postgres_address_with_defaults() -> None:
    found = parse_postgres(Given("postgresql://me@db/bench"), {})
    assert found == PostgresEndpoint("db", 5432, "bench", "me", "")
    assert found.address == "postgresql://db:5432/bench"


def test_a_password_on_the_command_line_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        parse_postgres(Given("postgresql://me:s3cret@db/bench"), {})
    assert "s3cret" not in f"{raised.value.message} {raised.value.remedy}"
    assert "STREAMGAUGE_POSTGRES_PASSWORD" in str(raised.value.remedy)


def test_a_password_within_the_environments_address_is_taken() -> None:
    found = parse_postgres(Given("postgresql://me:p%40ss@db/bench", from_env=True), {})
    assert found.password == "p@ss"
    assert "p@ss" not in repr(found)
    assert "me" not in found.address


def test_an_address_without_user_info_gets_it_from_its_twin_in_the_environment() -> None:
    environ = {"STREAMGAUGE_POSTGRES": "postgresql://me:s3cret@db:5433/bench"}
    found = parse_postgres(Given("postgresql://db:5433/bench"), environ)
    assert (found.user, found.password) == ("me", "s3cret")
    other = parse_postgres(Given("postgresql://x@other:5433/bench"), environ)
    assert (other.user, other.password) == ("x", "")


def test_the_twin_may_leave_out_the_port() -> None:
    environ = {"STREAMGAUGE_POSTGRES": "postgresql://me:s3cret@db/bench"}
    found = parse_postgres(Given("postgresql://db:5432/bench"), environ)
    assert (found.user, found.password) == ("me", "s3cret")


def test_the_password_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from file\n")
    by_file = {"STREAMGAUGE_POSTGRES_PASSWORD_FILE": str(file)}
    address = "postgresql://me@db/bench"
    assert parse_postgres(Given(address), by_file).password == "from file"
    both = {**by_file, "STREAMGAUGE_POSTGRES_PASSWORD": "100% direct"}
    assert parse_postgres(Given(address), both).password == "100% direct"


def test_a_missing_password_file_is_named() -> None:
    environ = {"STREAMGAUGE_POSTGRES_PASSWORD_FILE": "/no/such/file"}
    with pytest.raises(NotReady, match="/no/such/file"):
        parse_postgres(Given("postgresql://me@db/bench"), environ)


@pytest.mark.parametrize(
    "text", ["", "db", "mysql://db/x", "postgresql://db", "postgresql:///x", "postgresql://d:x/y"]
)
def test_a_postgres_address_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="postgresql://"):
        parse_postgres(Given(text, from_env=True), {})
