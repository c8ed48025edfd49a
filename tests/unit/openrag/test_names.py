import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.openrag.names import workspace_of

DOTTED = ["root-dir", "trash-dir", "shared-with-me-dir", "no-longer-shared-dir", "shared-drives-dir"]


@pytest.mark.parametrize("name", DOTTED)
def test_a_folder_with_dots_has_a_name_that_openrag_takes(name: str) -> None:
    folder = f"io.cozy.files.{name}"
    assert workspace_of(folder) == f"io-cozy-files-{name}"
    assert re.fullmatch("[A-Za-z0-9_-]+", workspace_of(folder))


@given(st.from_regex("[0-9a-f]{32}", fullmatch=True))
def test_other_ids_stay_as_they_are(folder: str) -> None:
    assert workspace_of(folder) == folder
