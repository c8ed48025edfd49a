import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat.tools import USER_WRITTEN_RULE, Param, Tool, llm_tools, parse_tools, rules
from ragcore.errors import Invalid

Json = dict[str, Any]
MINIMAL = {"name": "search", "description": "Search the mails."}
EMAIL = {
    "name": "draft_email",
    "description": "Prepare an email.",
    "examples": ["Write to the team", "Tell Paul"],
    "parameters": {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}, "description": "Who gets it", "x-user-written": True},
            "subject": {"type": "string"},
            "copies": {"type": "integer", "description": "How many"},
        },
        "required": ["subject", "to"],
    },
    "instructions": "Plain text.",
}


def tool(**fields: Any) -> Json:
    return {**MINIMAL, **fields}


def param(**keywords: Any) -> Json:
    """A tool whose only param is `p`."""
    return tool(parameters={"type": "object", "properties": {"p": keywords}})


def parsed(*tools: Json) -> tuple[Tool, ...]:
    return parse_tools(list(tools), "/tools")


def test_a_minimal_tool() -> None:
    assert parsed(MINIMAL) == (Tool("search", "Search the mails."),)


def test_a_tool_with_all_fields() -> None:
    params = (
        Param("to", "array", "Who gets it", required=True, user_written=True),
        Param("subject", "string", required=True),
        Param("copies", "integer", "How many"),
    )
    examples = ("Write to the team", "Tell Paul")
    assert parsed(EMAIL) == (Tool("draft_email", "Prepare an email.", examples, "Plain text.", params),)


def test_no_tools() -> None:
    assert parse_tools(None, "/tools") == parse_tools([], "/tools") == ()


P = "/tools/0/parameters"


@pytest.mark.parametrize(
    ("tools", "pointer"),
    [
        ({}, "/tools"),
        ("x", "/tools"),
        (True, "/tools"),
        (0, "/tools"),
        ([None], "/tools/0"),
        ([MINIMAL, "x"], "/tools/1"),
        ([[]], "/tools/0"),
        ([{}], "/tools/0/name"),
        ([{"name": "a"}], "/tools/0/description"),
        ([tool(name=None)], "/tools/0/name"),
        ([tool(name="")], "/tools/0/name"),
        ([tool(name="a" * 65)], "/tools/0/name"),
        ([tool(name="a b")], "/tools/0/name"),
        ([tool(name="a.b")], "/tools/0/name"),
        ([tool(name="a\n")], "/tools/0/name"),
        ([tool(name="\na")], "/tools/0/name"),
        ([tool(name="é")], "/tools/0/name"),
        ([tool(name="\u0661")], "/tools/0/name"),
        ([tool(name="\uff41")], "/tools/0/name"),
        ([tool(name=3)], "/tools/0/name"),
        ([tool(name=["a"])], "/tools/0/name"),
        ([tool(name="a"), tool(name="b"), tool(name="a")], "/tools/2/name"),
        ([tool(description="")], "/tools/0/description"),
        ([tool(description=" \n\u00a0")], "/tools/0/description"),
        ([tool(description=None)], "/tools/0/description"),
        ([tool(description={"en": "x"})], "/tools/0/description"),
        ([tool(examples="x")], "/tools/0/examples"),
        ([tool(examples={})], "/tools/0/examples"),
        ([tool(examples=["a", " "])], "/tools/0/examples/1"),
        ([tool(examples=["a", None])], "/tools/0/examples/1"),
        ([tool(examples=[3])], "/tools/0/examples/0"),
        ([tool(instructions=["x"])], "/tools/0/instructions"),
        ([tool(instructions=False)], "/tools/0/instructions"),
        ([tool(parameters=[])], P),
        ([tool(parameters=True)], P),
        ([tool(parameters={})], f"{P}/type"),
        ([tool(parameters={"type": None})], f"{P}/type"),
        ([tool(parameters={"type": "array"})], f"{P}/type"),
        ([tool(parameters={"type": ["object"]})], f"{P}/type"),
        ([tool(parameters={"type": "object", "properties": []})], f"{P}/properties"),
        ([tool(parameters={"type": "object", "required": "p"})], f"{P}/required"),
        ([tool(parameters={"type": "object", "required": ["p"]})], f"{P}/required/0"),
        ([tool(parameters={"type": "object", "required": [3]})], f"{P}/required/0"),
        ([tool(parameters={"type": "object", "required": [["p"]]})], f"{P}/required/0"),
        ([tool(parameters={"type": "object", "properties": {"p": None}, "required": ["p"]})], f"{P}/required/0"),
        (
            [tool(parameters={"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p", "P"]})],
            f"{P}/required/1",
        ),
        ([tool(parameters={"type": "object", "properties": {"p": "string"}})], f"{P}/properties/p"),
        ([tool(parameters={"type": "object", "properties": {"p": True}})], f"{P}/properties/p"),
        ([tool(parameters={"type": "object", "properties": {"a/b~c": {}}})], f"{P}/properties/a~1b~0c/type"),
        ([tool(parameters={"type": "object", "properties": {"": {}}})], f"{P}/properties//type"),
        ([param()], f"{P}/properties/p/type"),
        ([param(type="object")], f"{P}/properties/p/type"),
        ([param(type="null")], f"{P}/properties/p/type"),
        ([param(type="String")], f"{P}/properties/p/type"),
        ([param(type=["string", "null"])], f"{P}/properties/p/type"),
        ([param(type="string", description=3)], f"{P}/properties/p/description"),
        ([param(type="array")], f"{P}/properties/p/items"),
        ([param(type="array", items=None)], f"{P}/properties/p/items"),
        ([param(type="array", items="string")], f"{P}/properties/p/items"),
        ([param(type="array", items=[{"type": "string"}])], f"{P}/properties/p/items"),
        ([param(type="array", items={})], f"{P}/properties/p/items/type"),
        ([param(type="array", items={"type": "integer"})], f"{P}/properties/p/items/type"),
        ([param(type="array", items={"type": ["string"]})], f"{P}/properties/p/items/type"),
        ([param(**{"type": "string", "x-user-written": "true"})], f"{P}/properties/p/x-user-written"),
        ([param(**{"type": "string", "x-user-written": 1})], f"{P}/properties/p/x-user-written"),
        ([param(**{"type": "number", "x-user-written": True})], f"{P}/properties/p/x-user-written"),
        ([param(**{"type": "integer", "x-user-written": True})], f"{P}/properties/p/x-user-written"),
        ([param(**{"type": "boolean", "x-user-written": False})], f"{P}/properties/p/x-user-written"),
    ],
)
def test_a_bad_definition_is_pointed_at(tools: Any, pointer: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_tools(tools, "/tools")
    assert caught.value.pointer == pointer
    assert str(caught.value).startswith("tools")


def test_the_pointer_begins_with_the_field() -> None:
    with pytest.raises(Invalid, match=r"^actions\.0\.name is required$") as caught:
        parse_tools([{}], "/actions")
    assert caught.value.pointer == "/actions/0/name"


def test_the_message_quotes_no_more_than_a_piece_of_a_long_name() -> None:
    with pytest.raises(Invalid) as caught:
        parsed(tool(parameters={"type": "object", "properties": {"p" * 100_000: {}}}))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["a", "A-9_z", "-", "_", "0", "a" * 64])
def test_names(name: str) -> None:
    assert parsed(tool(name=name))[0].name == name


def test_names_are_told_apart_by_case() -> None:
    assert len(parsed(tool(name="a"), tool(name="A"))) == 2


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (tool(examples=None, parameters=None, instructions=None), MINIMAL),
        (tool(examples=[], instructions="", parameters={"type": "object"}), MINIMAL),
        (tool(parameters={"type": "object", "properties": None, "required": None}), MINIMAL),
        (tool(parameters={"type": "object", "properties": {"p": None}}), MINIMAL),
        (param(**{"type": "number", "description": None, "items": None, "x-user-written": None}), param(type="number")),
        (param(**{"type": "string", "x-user-written": False}), param(type="string")),
        (tool(strict=True, type="function", icon={"": None}), MINIMAL),
        (tool(parameters={"type": "object", "additionalProperties": 3, "$defs": []}), MINIMAL),
        (param(type="string", items=3, enum=["a"], minLength="x"), param(type="string")),
        (
            param(type="array", items={"type": "string", "pattern": 3}, maxItems=-1),
            param(type="array", items={"type": "string"}),
        ),
    ],
)
def test_what_is_null_empty_or_not_known_is_as_if_it_were_not_there(given: Json, same: Json) -> None:
    assert parsed(given) == parsed(same)


def test_a_param_that_is_required_twice() -> None:
    parameters = {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p", "p"]}
    assert parsed(tool(parameters=parameters))[0].params == (Param("p", "string", required=True),)


def test_the_input_is_not_changed() -> None:
    before = json.dumps(EMAIL)
    parsed(EMAIL)
    assert json.dumps(EMAIL) == before


def test_what_is_nested_deeply() -> None:
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(Invalid) as caught:
        parsed(tool(description=deep))
    assert caught.value.pointer == "/tools"
    assert parsed(tool(unknown=deep)) == parsed(MINIMAL)


@pytest.mark.parametrize("many", [
    [tool(name=f"t{n}") for n in range(3000)],
    [tool(parameters={"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(3000)},
                      "required": [f"p{n}" for n in range(3000)]})],
    [tool(examples=[f"e{n}" for n in range(10_000)])],
])  # fmt: skip
def test_many_definitions_take_no_more_than_their_number(many: list[Json]) -> None:
    began = time.process_time()
    parse_tools(many, "/tools")
    assert time.process_time() - began < 5


def test_as_a_tool_of_the_llm() -> None:
    (sent,) = llm_tools(parsed(EMAIL))
    assert sent == {
        "type": "function",
        "function": {
            "name": "draft_email",
            "description": "Prepare an email.\n\nMessages that call for it:\n- Write to the team\n- Tell Paul\n\n"
            "Plain text.",
            "parameters": {
                "type": "object",
                "properties": {
                    "to": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": f"Who gets it\n{USER_WRITTEN_RULE}",
                    },
                    "subject": {"type": "string"},
                    "copies": {"type": "integer", "description": "How many"},
                },
                "required": ["to", "subject"],
            },
        },
    }


def test_a_tool_without_parameters_as_one_of_the_llm() -> None:
    (sent,) = llm_tools(parsed(MINIMAL))
    assert sent["function"] == {**MINIMAL, "parameters": {"type": "object", "properties": {}}}


def test_the_rule_stands_alone_where_the_client_gave_no_description() -> None:
    (sent,) = llm_tools(parsed(param(**{"type": "string", "x-user-written": True})))
    assert sent["function"]["parameters"]["properties"] == {"p": {"type": "string", "description": USER_WRITTEN_RULE}}


def test_keywords_that_are_not_known_are_not_sent() -> None:
    (sent,) = llm_tools(parsed(param(type="string", enum=["a"], default=None, items={"type": "string"})))
    assert sent["function"]["parameters"]["properties"] == {"p": {"type": "string"}}


def test_blank_instructions_are_not_sent() -> None:
    (sent,) = llm_tools(parsed(tool(instructions=" \n")))
    assert sent["function"]["description"] == MINIMAL["description"]


@pytest.mark.parametrize("word", ["asked", "conversation", "documents", "Make nothing up", "typed", "data"])
def test_the_rules_of_the_tools(word: str) -> None:
    assert word in rules()
    assert rules() == rules().strip()


texts = st.text(max_size=5)
filled = texts.filter(str.strip)
params = st.builds(
    Param, texts, st.sampled_from(["string", "number", "integer", "boolean", "array"]), texts, st.booleans()
) | st.builds(Param, texts, st.sampled_from(["string", "array"]), texts, st.booleans(), st.booleans())
a_tool = st.builds(
    Tool,
    st.from_regex(r"\A[A-Za-z0-9_-]{1,64}\Z"),
    filled,
    st.lists(filled, max_size=3).map(tuple),
    texts,
    st.lists(params, max_size=4, unique_by=lambda p: p.name).map(tuple),
)
tools_lists = st.lists(a_tool, max_size=4, unique_by=lambda t: t.name)


@given(tools_lists)
def test_a_definition_gives_the_same_tool(tools: list[Tool]) -> None:
    message = json.loads(json.dumps([each.definition() for each in tools]))
    assert parse_tools(message, "/tools") == tuple(tools)


@given(tools_lists)
def test_what_the_llm_is_sent_says_all_of_a_tool(tools: list[Tool]) -> None:
    for each, sent in zip(tools, llm_tools(tools), strict=True):
        function = sent["function"]
        assert all(part in function["description"] for part in (each.description, *each.examples))
        assert list(function["parameters"]["properties"]) == [p.name for p in each.params]
        for p in each.params:
            keywords = function["parameters"]["properties"][p.name]
            assert set(keywords) <= {"type", "items", "description"}
            assert (USER_WRITTEN_RULE in keywords.get("description", "")) == p.user_written


WORDS = ["name", "description", "examples", "parameters", "type", "properties", "required", "items", "instructions",
         "x-user-written", "p", "a/b", "~"]  # fmt: skip
SCALARS = [None, True, False, 0, 1.5, "", " ", "p", "object", "string", "array", "integer", "boolean"]
anything = st.recursive(
    st.sampled_from(SCALARS),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(WORDS), below, max_size=5),
    max_leaves=12,
)
param_like = anything | st.fixed_dictionaries(
    {"type": anything}, optional={"description": anything, "items": anything, "x-user-written": anything}
)
parameters_like = anything | st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={"properties": st.dictionaries(st.sampled_from(WORDS), param_like, max_size=3), "required": anything},
)
tool_like = anything | st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "a\n", 3]), "description": st.sampled_from(["d", " ", None])},
    optional={"examples": anything, "parameters": parameters_like, "instructions": anything},
)


@given(anything | st.lists(tool_like, max_size=3))
def test_anything_gives_tools_or_a_pointer_into_it(value: Any) -> None:
    try:
        tools = parse_tools(value, "/tools")
    except Invalid as error:
        pointer = error.pointer
    else:
        pointer = "/tools"
        assert parse_tools([each.definition() for each in tools], "/tools") == tools
    assert resolves({"tools": value}, pointer)


def resolves(value: Any, pointer: str) -> bool:
    """Whether there is something at the pointer, or it is a field that an object lacks (null is absent)."""
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for part in path:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return isinstance(value, dict) or (isinstance(value, list) and int(last) < len(value))
