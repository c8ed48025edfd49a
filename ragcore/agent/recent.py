"""`list_recent_documents`: what was last changed."""

from collections.abc import Iterator
from dataclasses import dataclass

from ragcore.agent.places import places_of
from ragcore.agent.search import DATES
from ragcore.agent.tools import Json, Result, Tool, shown
from ragcore.documents import BY_CHANGE, FILES, STATUSES, Directory, File
from ragcore.grounded.way import Way
from ragcore.grounded.when import When

MOST = 20  # documents
PAGE = 100
MOST_READ = 1000  # of which most may be in other folders, or in the trash
FIELDS = ["type", "updated_at"]


@dataclass(frozen=True)
class Recent:
    way: Way
    when: When

    def documents(self, limit: int) -> list[Json]:
        """The last changed first. Raises NotFound, Retryable."""
        folder, found = self.way.folder(), list[tuple[File, str]]()
        for page in self._pages():
            found += self._placed(page, folder)
            if len(found) >= limit:
                break
        return self._described(found[:limit])

    def _pages(self) -> Iterator[list[File]]:
        """A whole page of one and the same date is the last one."""
        since, until = self.when.around()
        seen = set[str]()
        while len(seen) < MOST_READ:
            selector = {"type": "file", "updated_at": {"$gte": since, "$lte": until}}
            docs = self.way.runtime.store.find_in_order(
                self.way.instance, FILES, selector, index=BY_CHANGE, fields=FIELDS, order="desc", limit=PAGE
            )
            new = [doc for doc in docs if doc["_id"] not in seen]
            yield [File.from_document(doc) for doc in new]
            if len(docs) < PAGE or not new:
                return
            seen |= {doc["_id"] for doc in docs}
            until = docs[-1]["updated_at"]

    def _placed(self, files: list[File], folder: Directory | None) -> list[tuple[File, str]]:
        files = [file for file in files if not file.trashed and self.when.holds(file.updated_at)]
        places = places_of(self.way, {file.dir_id for file in files}, folder)
        return [(file, places[file.dir_id]) for file in files if file.dir_id in places]

    def _described(self, placed: list[tuple[File, str]]) -> list[Json]:
        statuses = self.way.runtime.store.get_many(self.way.instance, STATUSES, [file.id for file, _ in placed])
        return [
            {
                "file": file.name,
                "folder": path,
                "class": file.class_,
                "changed": file.updated_at,
                "indexed": bool(statuses.get(file.id, {}).get("indexed")),
            }
            for file, path in placed
        ]


def recent(way: Way, arguments: Json) -> Result:
    when = When.parse(arguments.get("since", ""), arguments.get("until", ""))
    found = Recent(way, when).documents(arguments.get("limit", MOST))
    files = [document["file"] for document in found]
    return Result({"documents": found}, shown(arguments) | {"found": len(found), "files": files[:4]})


RECENT = Tool(
    "list_recent_documents",
    "Lists the user's documents that were last changed, the newest first: name, folder, class, date, and whether each "
    "can be searched.",
    recent,
    {**DATES, "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": f"At most {MOST}."}},
)
