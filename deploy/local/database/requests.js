"use strict";

// What a request is about, read from its path and headers. `req.parts` are the decoded parts of its path.

function splitUrl(url) {
  const at = url.indexOf("?");
  return at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at)];
}

function parseQuery(search) {
  const asValue = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  };
  return Object.fromEntries([...new URLSearchParams(search)].map(([name, text]) => [name, asValue(text)]));
}

/** The id of the document that the path names: `/db/id`, `/db/_local/id`, `/db/_design/id`. */
function documentId(req) {
  const [, first, second] = req.parts;
  if (first === undefined) return undefined;
  if (first === "_local" || first === "_design") return req.parts.length === 3 ? `${first}/${second}` : undefined;
  if (first.startsWith("_") && !/^_(local|design)\//.test(first)) return undefined;
  return req.parts.length === 2 ? first : undefined;
}

function isDocumentWrite(req) {
  return (req.method === "PUT" && documentId(req) !== undefined) || (req.method === "POST" && req.parts.length === 1);
}

function isAttachment(req) {
  if (/^multipart\//.test(req.headers["content-type"] || "")) return true;
  return req.method === "PUT" && req.parts.length > 1 && documentId(req) === undefined;
}

function hasBody(req) {
  return req.headers["transfer-encoding"] !== undefined || Number(req.headers["content-length"]) > 0;
}

module.exports = { documentId, hasBody, isAttachment, isDocumentWrite, parseQuery, splitUrl };
