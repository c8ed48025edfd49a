"""What others published and the page ships is what they published."""

from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
VENDOR = CHECKOUT / "api/static/vendor"
PUBLISHED = {
    "marked.esm.js": "marked/lib/marked.esm.js",
    "marked.LICENSE": "marked/LICENSE",
    "purify.es.mjs": "dompurify/dist/purify.es.mjs",
    "purify.LICENSE": "dompurify/LICENSE",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_vendored_file_is_the_published_one(name: str) -> None:
    published = CHECKOUT / "tests/clients/node_modules" / PUBLISHED[name]
    assert (VENDOR / name).read_bytes() == published.read_bytes()


def test_nothing_else_is_vendored() -> None:
    assert {path.name for path in VENDOR.iterdir()} == {*PUBLISHED, "README.md"}
