from typing import Any

import pytest

from ragcore.budgets.plans import plan_of
from ragcore.config import Config
from ragcore.instances import Instance

PLANS = {"free": {"tokens": 1}, "pro": {"tokens": 2}, "team": {"tokens": 3}}
CONTEXTS = {"default": {}, "work": {"features": {"ai.plan": "team"}}}


def name(plans: dict[str, Any], context: str = "", **flags: Any) -> str | None:
    config = Config.model_validate({"plans": plans, "contexts": CONTEXTS})
    flags = {key.replace("_", "."): value for key, value in flags.items()}
    found = plan_of(config, Instance("a.localhost", "a.localhost", context, flags))
    if found:
        assert found[1] is config.plans[found[0]]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("context", "flags", "plan"),
    [
        ("", {}, "free"),
        ("", {"ai_plan": "pro"}, "pro"),
        ("work", {}, "team"),
        ("work", {"ai_plan": "pro"}, "pro"),
        ("", {"ai_plan": "gold"}, "free"),
        ("", {"ai_plan": ["pro"]}, "free"),
    ],
)
def test_the_plan_of_an_instance(context: str, flags: dict[str, Any], plan: str) -> None:
    assert name(PLANS, context, **flags) == plan


def test_without_a_free_plan_only_those_with_a_flag_have_one() -> None:
    plans = {"pro": PLANS["pro"]}
    assert (name(plans), name(plans, ai_plan="gold"), name(plans, ai_plan="pro")) == (None, None, "pro")


def test_without_plans_nobody_has_one() -> None:
    assert name({}, ai_plan="free") is None
