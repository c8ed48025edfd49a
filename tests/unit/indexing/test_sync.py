from ragcore.documents import FILES, File
from ragcore.indexing.sync import metadata_of


def test_what_openrag_is_given() -> None:
    file = File(
        "f", "3-a", "a.pdf", "d", 12, "d41d", "application/pdf", created_at="2026", metadata={"datetime": "2020"}
    )
    assert metadata_of(file) == {
        "md5sum": "d41d",
        "doctype": FILES,
        "doc_rev": "3-a",
        "name": "a.pdf",
        "mimetype": "application/pdf",
        "datetime": "2020",
        "created_at": "2026",
    }
