"use strict";

// The document database of the embedded stack: `node server.js --port P --dir DIR`, on the loopback.

process.noDeprecation = true; // express-pouchdb still says `new Buffer`: nothing that a reader of the log can mend
require("node:events").defaultMaxListeners = 0; // each open feed listens to its database

const http = require("node:http");
const { parseArgs } = require("node:util");
const Databases = require("./databases");
const feeds = require("./feeds");
const front = require("./front");

const KEEP_ALIVE_MS = 10 * 60 * 1000; // longer than any client's pool keeps a connection: no reset on a reused one
const GRACE_MS = 2000;

function main() {
  const { port, dir } = parseArgs({ options: { port: { type: "string" }, dir: { type: "string" } } }).values;
  const databases = new Databases(dir);
  const server = http.createServer(front(databases));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on("error", (error) => {
    console.error(`Error: ${error.message}`);
    process.exit(1);
  });
  server.listen(Number(port), "127.0.0.1", 1024, () => console.log(`ready on http://127.0.0.1:${port}/`));
  process.on("uncaughtException", (error) => console.error(`Error: not caught: ${error.stack || error}`));
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => stop(server, databases));
}

async function stop(server, databases) {
  const closed = new Promise((resolve) => server.close(resolve));
  feeds.end();
  server.closeIdleConnections();
  setTimeout(() => server.closeAllConnections(), GRACE_MS).unref();
  await closed;
  await databases.close();
  process.exit(0);
}

main();
