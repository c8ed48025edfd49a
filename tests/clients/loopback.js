"use strict";

// Names under .localhost are the loopback (RFC 6761), which Debian's resolver does not know.

const dns = require("node:dns");

/** A `lookup` for sockets; `all` asks for a list, as Node does from version 20 on. */
function lookup(hostname, options, callback) {
  if (!hostname.endsWith(".localhost")) return dns.lookup(hostname, options, callback);
  const address = { address: "127.0.0.1", family: 4 };
  if (options.all) return callback(null, [address]);
  return callback(null, address.address, address.family);
}

module.exports = { lookup };
