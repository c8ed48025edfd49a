"use strict";

// A database's name may hold a slash, a folder's cannot: "/" is "~" on disk, which no database name holds.

const NAME = /^[a-z_][a-z0-9_$()+/-]*$/;
const MAX_BYTES = 238; // CouchDB's own limit, which leaves room for the suffix of an index's folder

exports.isValid = (name) => NAME.test(name) && name.length <= MAX_BYTES;
exports.toFolder = (name) => name.replaceAll("/", "~");
exports.fromFolder = (folder) => folder.replaceAll("~", "/");
