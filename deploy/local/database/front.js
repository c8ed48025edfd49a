"use strict";

const express = require("express");
const PouchDB = require("pouchdb");
const expressPouchDB = require("express-pouchdb");
const pouchUtils = require("express-pouchdb/lib/utils");
const feeds = require("./feeds");
const { find } = require("./find");
const names = require("./names");
const { documentId, hasBody, isAttachment, isDocumentWrite, parseQuery, splitUrl } = require("./requests");

const BODY_LIMIT = 64 * 1024 * 1024;

/**
 * express-pouchdb in its minimum mode, with what stands before it so that it answers as CouchDB does: names
 * with a slash, 412 once for a database that is there, 409 for a delete without a revision, live feeds that
 * end with their client, and a 400 where it would write something else than was meant.
 */
module.exports = function (databases) {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false); // an Etag here is the revision of a document or nothing
  app.use(askForJSON, rejectBadPath);
  app.get("/", welcome);
  app.get("/_all_dbs", (req, res) => res.json(databases.list()));
  app.use(findDatabase(databases), readBody, checkDocument);
  app.use(routes(databases));
  app.use(pouch(databases));
  app.use(answerError);
  return app;
};

function pouch(databases) {
  pouchUtils.sendError = asCouchDB(pouchUtils.sendError);
  return expressPouchDB(databases.PouchDB, {
    mode: "minimumForPouchDB",
    // compression holds back the lines of a feed; the live parts are ours
    overrideMode: { include: ["routes/find"], exclude: ["compression", "routes/root", "routes/all-dbs"] },
  });
}

function asCouchDB(sendError) {
  return (res, error, baseStatus) => {
    if (error.name === "doc_validation") error.status = 400; // the client's mistake: on a 500 it would try again
    if (error.reason === "deleted") error.message = error.reason;
    sendError(res, error, baseStatus);
  };
}

/** express-pouchdb answers text/plain where a client accepts anything; CouchDB does not. */
function askForJSON(req, res, next) {
  if (!(req.headers.accept || "").includes("multipart")) req.headers.accept = "application/json";
  next();
}

function rejectBadPath(req, res, next) {
  try {
    const [path, search] = splitUrl(req.url);
    req.parts = path.split("/").filter(Boolean).map(decodeURIComponent);
    req.search = search;
    next();
  } catch {
    fail(res, 400, "bad_request", "The path is not valid percent-encoded UTF-8.");
  }
}

function welcome(req, res) {
  res.json({ couchdb: "Welcome", version: PouchDB.version, vendor: { name: "PouchDB" } });
}

function findDatabase(databases) {
  return (req, res, next) => {
    const name = req.parts[0];
    const whole = req.parts.length === 1; // the database, no document in it
    const creating = whole && req.method === "PUT";
    if (name === undefined || /^_(?!users$|replicator$)/.test(name)) return next();
    if (!names.isValid(name)) {
      return fail(res, 400, "illegal_database_name", `Name: '${name}'. Only lower case letters, digits and _$()+-/`);
    }
    if (!creating && !databases.has(name)) return fail(res, 404, "not_found", "Database does not exist.");
    req.database = name;
    if (!creating && !(whole && req.method === "DELETE")) res.on("close", databases.use(name));
    const [path, search] = splitUrl(req.url);
    const rest = path.split("/").filter(Boolean).slice(1);
    req.url = "/" + [encodeURIComponent(names.toFolder(name)), ...rest].join("/") + search;
    return next();
  };
}

const parseJSON = express.json({ limit: BODY_LIMIT, strict: false, type: () => true });

/** Every body but an attachment's is a JSON object. */
function readBody(req, res, next) {
  if (!["POST", "PUT"].includes(req.method) || isAttachment(req)) return next();
  return parseJSON(req, res, (error) => {
    if (error) return next(error);
    if (isDocumentWrite(req) && !hasBody(req)) return fail(res, 400, "bad_request", "invalid UTF-8 JSON");
    const isObject = typeof req.body === "object" && req.body !== null && !Array.isArray(req.body);
    return isObject ? next() : fail(res, 400, "bad_request", "Request body must be a JSON object");
  });
}

/** A write of one document, judged before express-pouchdb would guess an id or a revision. */
function checkDocument(req, res, next) {
  const id = documentId(req);
  if (req.database === undefined || id === undefined) return next();
  const query = new URLSearchParams(req.search);
  const revision = (req.headers["if-match"] || "").replaceAll('"', "");
  if (revision && !query.has("rev")) req.query.rev = revision;
  if (req.method === "DELETE") req.needsRevision = !revision && !query.has("rev");
  if (req.method === "PUT") {
    if ((req.body._id ?? id) !== id) {
      return fail(res, 400, "bad_request", "Document ID in the URL must match the one in the body");
    }
    req.body._id = id;
  }
  return next();
}

function routes(databases) {
  const router = express.Router();
  const isDatabase = (req, res, next) => next(req.parts.length === 1 && req.database ? undefined : "route");

  router.put("*", isDatabase, async (req, res) => {
    if (await databases.create(req.database)) return res.status(201).json({ ok: true });
    return fail(res, 412, "file_exists", "The database could not be created, the file already exists.");
  });
  router.delete("*", isDatabase, async (req, res) => {
    await databases.remove(req.database, feeds.end);
    res.json({ ok: true });
  });
  router.get("*", isDatabase, async (req, res) => {
    const info = await (await databases.open(req.database)).info();
    res.json({ ...info, db_name: req.database, instance_start_time: "0" });
  });
  router.delete("*", async (req, res, next) => {
    if (!req.needsRevision) return next();
    const db = await databases.open(req.database);
    const found = await db.get(documentId(req)).catch((error) => error);
    if (found.status === 404) return fail(res, 404, "not_found", found.reason || "missing");
    return fail(res, 409, "conflict", "Document update conflict.");
  });
  router.all("/:folder/_changes", async (req, res, next) => {
    const query = parseQuery(req.search);
    const db = await databases.open(req.database);
    const since = await feeds.startOf(db, query.since ?? 0);
    if (since === null) return fail(res, 400, "bad_request", "Malformed sequence supplied in 'since' parameter.");
    if (!databases.has(req.database)) return fail(res, 404, "not_found", "Database does not exist.");
    if (["continuous", "longpoll"].includes(query.feed)) return feeds.serveLive(db, { ...query, since }, req, res);
    req.query.since = since;
    return next();
  });
  router.post("/:folder/_find", async (req, res) => {
    const db = await databases.open(req.database);
    await find(db, req.body).then(
      (found) => res.json(found),
      (error) => pouchUtils.sendError(res, error, 400),
    );
  });
  return passErrorsOn(router);
}

/** Express 4 does not see that a handler's promise failed: the request would hang. */
function passErrorsOn(router) {
  for (const layer of router.stack.flatMap((one) => (one.route ? one.route.stack : [one]))) {
    const handle = layer.handle;
    layer.handle = (req, res, next) => Promise.resolve(handle(req, res, next)).catch(next);
  }
  return router;
}

// Express knows an error handler by its four parameters.
function answerError(error, req, res, next) {
  const status = error.status || 500;
  if (status >= 500) console.error(`${req.method} ${req.originalUrl}: ${error.stack || error}`);
  if (res.headersSent) return res.end();
  const known = { 400: "bad_request", 413: "too_large", 415: "bad_content_type" };
  return fail(res, status, known[status] || "internal_server_error", error.message || String(error));
}

function fail(res, status, error, reason) {
  res.status(status).json({ error, reason });
}
