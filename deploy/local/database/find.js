"use strict";

const DEFAULT_LIMIT = 25; // CouchDB's
const BOOKMARK = /^offset:(\d+)$/;

/**
 * `POST /:db/_find`. PouchDB counts the documents that `$gt` leaves out, when they are equal, into the limit
 * and the skip, so that a page comes out short in the middle of a list; it has no default limit and no
 * bookmarks. A bookmark here is a place in the list, good as long as the list does not change.
 */
exports.find = async function (db, request) {
  const { bookmark, skip = 0, limit = DEFAULT_LIMIT, ...query } = request;
  const start = skip + Number((BOOKMARK.exec(bookmark) || [0, 0])[1]);
  const found = await findAtLeast(db, query, start + limit);
  const docs = found.docs.slice(start, start + limit);
  return { ...found, docs, bookmark: docs.length > 0 ? `offset:${start + docs.length}` : bookmark || "nil" };
};

/** Mostly one document is left out, so one more is asked for; where that is not enough, all of them. */
async function findAtLeast(db, query, wanted) {
  const found = await db.find({ ...query, limit: wanted + 1 });
  return found.docs.length >= wanted ? found : db.find(query);
}
