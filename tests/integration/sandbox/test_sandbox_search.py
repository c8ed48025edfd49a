import io
from typing import Any

import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, NameObject


def search(client: Any, text: str, path: str = "", **params: Any) -> list[dict[str, Any]]:
    response = client.call("GET", f"/search/partition/{{p}}{path}", params={"text": text, **params})
    assert response.status_code == 200, response.text
    documents: list[dict[str, Any]] = response.json()["documents"]
    return documents


def ids(documents: list[dict[str, Any]]) -> list[str]:
    return [document["metadata"]["file_id"] for document in documents]


@pytest.fixture
def filled(client: Any) -> Any:
    client.workspace("home")
    client.index("lease", "The lease of the flat ends in June. The rent is 850 euros.", workspace_ids='["home"]')
    client.index("recipe", "Une recette de crêpes : farine, œufs, lait. Les crêpes reposent une heure.")
    client.index("garden", "Tomatoes are planted in May, after the last frost.")
    return client


def test_the_best_passage_comes_first(filled: Any) -> None:
    assert ids(search(filled, "When do I plant a tomato?")) == ["garden"]
    assert ids(search(filled, "Combien de temps repose la crepe ?"))[0] == "recipe"
    assert ids(search(filled, "leases and rents"))[0] == "lease"


@pytest.mark.parametrize("text", ['"', "a AND (b OR", "NEAR(x", "*", "rent:*", "'; DROP", "^ - + {", "the is of", ""])
def test_any_punctuation_is_coped_with(filled: Any, text: str) -> None:
    search(filled, text)


def test_search_is_scoped(filled: Any) -> None:
    everything = "rent crêpes tomatoes"
    assert set(ids(search(filled, everything))) == {"lease", "recipe", "garden"}
    assert ids(search(filled, everything, workspace="home")) == ["lease"]
    assert ids(search(filled, everything, "/file/garden")) == ["garden"]
    assert len(search(filled, everything, top_k=2)) == 2
    assert search(filled, everything, similarity_threshold=0.9) == []


def test_other_partitions_are_not_searched(filled: Any, other: Any) -> None:
    assert search(other, "rent") == []


def test_the_refusals_of_a_search(filled: Any) -> None:
    path = "/search/partition/{p}"
    assert filled.call("GET", path).status_code == 422
    assert filled.call("GET", f"{path}?text=a&top_k=x").status_code == 422
    assert filled.call("GET", f"{path}?text=a&similarity_threshold=x").status_code == 422
    assert filled.call("GET", f"{path}?text=a&workspace=none").status_code == 404
    assert filled.call("GET", f"{path}/file/none?text=a").status_code == 404
    assert filled.call("GET", "/search/partition/none?text=a").status_code == 404
    assert filled.call("GET", "/extract/999999999").status_code == 404
    assert filled.call("GET", "/extract/x").status_code == 404


def pdf_of(*pages: str) -> bytes:
    writer = pypdf.PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    for text in pages:
        page = writer.add_blank_page(300, 300)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        page[NameObject("/Resources")] = pypdf.generic.DictionaryObject(
            {
                NameObject("/Font"): pypdf.generic.DictionaryObject(
                    {
                        NameObject("/F1"): pypdf.generic.DictionaryObject(
                            {NameObject(key): NameObject(value) for key, value in font.items()}
                        )
                    }
                )
            }
        )
    content = io.BytesIO()
    writer.write(content)
    return content.getvalue()


def test_the_page_of_a_pdf_is_known(client: Any) -> None:
    client.index("p", pdf_of("Nothing of note", "The boiler was serviced"), "boiler.pdf")
    (hit,) = search(client, "serviced")
    assert (hit["metadata"]["page"], hit["metadata"]["filename"]) == (2, "boiler.pdf")
    extract = client.server.session.get(hit["link"]).json()
    assert extract["metadata"].items() >= {"file_id": "p", "partition": client.partition, "page": 2}.items()


def test_a_tool_extracts_text(client: Any) -> None:
    form = {"tool": '{"name": "extractText"}', "metadata": '{"mime": "text/html", "name": "x"}'}
    page = "<style>p {}</style><p>Hello</p><script>no()</script>"
    answer = client.call("POST", "/v1/tools/execute", files={"file": ("x", page)}, data=form)
    assert answer.json() == {"message": "Hello"}
    unknown = client.call("POST", "/v1/tools/execute", files={"file": ("x", page)}, data={"tool": "{}"})
    assert unknown.status_code == 400
