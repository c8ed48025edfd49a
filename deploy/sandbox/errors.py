"""The refusals of the server, in FastAPI's shape."""

from typing import Any


class ApiError(Exception):
    """Answered as `{"detail": ...}` with `status`; a `code` stands in brackets before the text."""

    def __init__(self, status: int, detail: str, code: str | None = None, extra: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail: Any = f"[{code}]: {detail}" if code else detail
        self.extra = extra if extra is not None else ({} if code else None)

    def body(self) -> dict[str, Any]:
        return {"detail": self.detail} if self.extra is None else {"detail": self.detail, "extra": self.extra}


class Invalid(ApiError):
    """422: `where` is the path of the wrong value, as in `("body", "workspace_id")`."""

    def __init__(self, where: tuple[str, ...], message: str, kind: str = "value_error") -> None:
        super().__init__(422, message)
        self.detail = [{"loc": list(where), "msg": message, "type": kind}]


def no_partition(partition: str) -> ApiError:
    return ApiError(404, f"Partition '{partition}' not found", "PARTITION_NOT_FOUND", {"partition": partition})


def no_file(file_id: str, partition: str) -> ApiError:
    return ApiError(404, f"'{file_id}' not found in partition '{partition}'")


def no_workspace(workspace_id: str) -> ApiError:
    return ApiError(404, f"Workspace '{workspace_id}' not found")
