"""The client of openRAG: what `contracts/openrag.md` says of it stands here, and nowhere else."""

from ragcore.openrag.client import OpenRag, Upload
from ragcore.openrag.completions import Chunk, Usage
from ragcore.openrag.errors import Duplicate, Exists, Swapping, TooLarge
from ragcore.openrag.passages import Passage

__all__ = ["Chunk", "Duplicate", "Exists", "OpenRag", "Passage", "Swapping", "TooLarge", "Upload", "Usage"]
