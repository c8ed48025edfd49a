"""Names on openRAG: a workspace is named after its folder, whose id may hold dots that openRAG refuses."""

_DOTTED = (
    "io.cozy.files.root-dir",
    "io.cozy.files.trash-dir",
    "io.cozy.files.shared-with-me-dir",
    "io.cozy.files.no-longer-shared-dir",
    "io.cozy.files.shared-drives-dir",
)
_WORKSPACES = {folder: folder.replace(".", "-") for folder in _DOTTED}
_FOLDERS = {workspace: folder for folder, workspace in _WORKSPACES.items()}


def model_of(partition: str) -> str:
    """The model that answers from the documents of a partition."""
    return f"openrag-{partition}"


def models_of(partition: str) -> tuple[str, ...]:
    """All names of that model, the former one too."""
    return model_of(partition), f"ragondin-{partition}"


def workspace_of(folder_id: str) -> str:
    return _WORKSPACES.get(folder_id, folder_id)


def folder_of(workspace_id: str) -> str:
    return _FOLDERS.get(workspace_id, workspace_id)
