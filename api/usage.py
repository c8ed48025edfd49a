"""GET /api/usage, and the header that tells what is left of the day's AI budget."""

import json
import math

from flask import Blueprint, Response

from api.context import api, instance, require_chat
from ragcore.errors import Retryable

blueprint = Blueprint("usage", __name__, url_prefix="/api/usage")
HEADER = "X-AI-Left"
TOLD_FROM = 0.5  # a share that is left


@blueprint.get("")
def usage() -> Response:
    """200, the plan, what the day has used of it, and when the next one begins."""
    of = instance()
    require_chat()
    told = api().runtime.budgets.usage(of)
    return tell_left(Response(f"{json.dumps(told)}\n", content_type="application/json"))


def tell_left(response: Response) -> Response:
    """Of an AI surface: with the share of the day's tokens that is left, once half of them are spent.

    It costs a round trip to Redis where the instance has a plan with a limit; where that fails, nothing is told.
    """
    try:
        budget = api().runtime.budgets.of(instance())
        left = budget.left() if budget else None
    except Retryable:
        return response
    if left is not None and left <= TOLD_FROM:
        response.headers[HEADER] = f"{math.floor(left * 100) / 100:.2f}"
    return response
