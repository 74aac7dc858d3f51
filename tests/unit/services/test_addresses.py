from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.services.addresses import read_properties, without_user_info


def test_a_broken_line_of_a_settings_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("a=1\nnonsense\n")
    with pytest.raises(UsageError, match="line 2"):
        read_properties(file, "STREAMGAUGE_KAFKA_CONFIG")


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("postgresql://me@db:5433/bench", "postgresql://db:5433/bench"),
        ("--postgres=postgresql://me:s3cret@db/b", "--postgres=postgresql://db/b"),
        ("postgresql://me:p@ss@db/b", "postgresql://db/b"),
        ("mail=me@db", "mail=me@db"),
    ],
)
def test_what_is_written_down_of_a_command_holds_no_user_info(word: str, written: str) -> None:
    assert without_user_info(word) == written
