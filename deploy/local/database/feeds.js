"use strict";

const SEQUENCE = /^\d+$/;
const DEFAULT_TIMEOUT_MS = 60_000;
const open = new Map(); // each live feed and the name of its database

/**
 * `GET` or `POST /:db/_changes` with `feed=continuous` or `feed=longpoll`, as CouchDB answers them.
 * express-pouchdb's own never stop listening when their client goes, and know no `timeout`.
 */
exports.serveLive = function (db, query, req, res) {
  res.writeHead(200, { "Content-Type": "application/json" });
  res.flushHeaders();
  const feed = query.feed === "continuous" ? continuous(db, query, req, res) : longpoll(db, query, req, res);
  const timers = startTimers(query, res, feed);
  open.set(feed, req.database);
  res.on("close", () => {
    timers.stop();
    feed.cancel();
    open.delete(feed);
  });
};

/**
 * The number to start after, or null when `since` is no sequence. One that the database has not reached is
 * another database's, deleted since: CouchDB starts such a feed over, PouchDB would stay silent.
 */
exports.startOf = async function (db, since) {
  const { update_seq: reached } = await db.info();
  if (since === "now") return reached;
  if (!SEQUENCE.test(since)) return null;
  return Number(since) > reached ? 0 : Number(since);
};

/** End the live feeds of one database, or all of them. */
exports.end = function (database) {
  for (const [feed, of] of open) if (database === undefined || of === database) feed.end();
};

function continuous(db, query, req, res) {
  let last = query.since;
  const changes = db.changes(changesOptions(query, req, true));
  const end = () => finish(res, JSON.stringify({ last_seq: last }) + "\n");
  changes.on("change", (change) => {
    last = change.seq;
    res.write(JSON.stringify(change) + "\n");
  });
  changes.on("complete", end);
  changes.on("error", (error) => finish(res, errorLine(error)));
  return { end, cancel: () => changes.cancel() };
}

function longpoll(db, query, req, res) {
  let live = null;
  let cancelled = false;
  const answer = (results, last) => finish(res, JSON.stringify({ results, last_seq: last }) + "\n");
  const fail = (error) => finish(res, errorLine(error));
  let last = query.since;

  const wait = () => {
    live = db.changes({ ...changesOptions(query, req, true), since: last });
    live.on("change", (change) => answer([change], change.seq));
    live.on("error", fail);
    if (cancelled) live.cancel();
  };
  db.changes(changesOptions(query, req, false)).then((found) => {
    last = found.last_seq;
    if (found.results.length > 0) answer(found.results, last);
    else if (!cancelled) wait();
  }, fail);

  return {
    end: () => answer([], last),
    cancel: () => {
      cancelled = true;
      if (live) live.cancel();
    },
  };
}

function changesOptions(query, req, live) {
  const { feed, heartbeat, timeout, ...options } = query;
  const fromBody = req.body || {};
  if (options.limit < 1) options.limit = 1;
  for (const name of ["doc_ids", "selector"]) if (fromBody[name]) options[name] = fromBody[name];
  return { ...options, live, query_params: query };
}

/** A heartbeat keeps a feed open for ever; without one it ends after `timeout` ms, as CouchDB's do. */
function startTimers(query, res, feed) {
  if (query.heartbeat) {
    const every = query.heartbeat > 0 && query.heartbeat !== true ? query.heartbeat : DEFAULT_TIMEOUT_MS;
    const timer = setInterval(() => res.write("\n"), every);
    return { stop: () => clearInterval(timer) };
  }
  const timer = setTimeout(feed.end, query.timeout ?? DEFAULT_TIMEOUT_MS);
  return { stop: () => clearTimeout(timer) };
}

function finish(res, text) {
  if (!res.writableEnded) res.end(text);
}

function errorLine(error) {
  return JSON.stringify({ error: error.name || "error", reason: error.message || String(error) }) + "\n";
}
