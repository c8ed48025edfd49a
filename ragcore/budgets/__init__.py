"""What an instance, or an organisation, may use of the AI in a day of UTC, by its plan (`plans` of the configuration).

Counted in Redis: reserved before each call of the LLM, settled after it. The issue's "Budgets", and the seed beginning
with `004` under "Rate limits & plans". Without plans nothing is asked of Redis.
"""

from ragcore.budgets.budgets import Budgets
from ragcore.budgets.errors import Spent
from ragcore.budgets.spending import Spending

__all__ = ["Budgets", "Spending", "Spent"]
