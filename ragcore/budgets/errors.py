"""What is told where a budget is spent."""

import time
from datetime import datetime

from ragcore.errors import TooMany

MESSAGE = "Daily AI budget reached"


class Spent(TooMany):
    """`reset_at` is a date, `upgrade_url` empty where there is none. `retry_after` are the seconds until then."""

    code = "budget"

    def __init__(self, plan: str, reset_at: str, upgrade_url: str = "") -> None:
        super().__init__(MESSAGE, max(1.0, datetime.fromisoformat(reset_at).timestamp() - time.time()))
        self.plan, self.reset_at, self.upgrade_url = plan, reset_at, upgrade_url

    def fields(self) -> dict[str, str | None]:
        """What the error event says beside its message and its code."""
        return {"resetAt": self.reset_at, "plan": self.plan, "upgradeUrl": self.upgrade_url or None}

    @classmethod
    def of(cls, event: dict[str, str]) -> "Spent":
        """By the fields of an error event."""
        return cls(event["plan"], event["resetAt"], event.get("upgradeUrl") or "")
