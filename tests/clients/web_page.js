"use strict";

// A page of a web application on the published cozy-client and cozy-realtime: `node web_page.js URL TOKEN`
//
// It does what the assistant's own interface does, and prints what it saw as one JSON object.

require("./browser");
const { randomUUID } = require("node:crypto");
const { default: CozyClient, Q } = require("cozy-client");
const { RealtimePlugin } = require("cozy-realtime");

const ASSISTANTS = "io.cozy.ai.chat.assistants";
const CONVERSATIONS = "io.cozy.ai.chat.conversations";
const CHAT_EVENTS = "io.cozy.ai.chat.events";
const STATUSES = "io.cozy.ai.chat.rag";
const ACCOUNTS = "io.cozy.accounts";
const FILES = "io.cozy.files";
const DEADLINE_MS = 45_000;

async function main(uri, token) {
  const client = new CozyClient({ uri, token, appMetadata: { slug: "assistant", version: "1.0.0" } });
  await client.registerPlugin(RealtimePlugin, { logger: { debug() {}, info() {}, warn() {}, error: console.error } });
  await client.login({ uri, token });
  const seen = { before: await names(client) };
  Object.assign(seen, await fileAndStatus(client));
  seen.assistants = await assistants(client);
  seen.account = await account(client);
  Object.assign(seen, await chat(client, seen.assistantId));
  console.log(JSON.stringify(seen));
  client.plugins.realtime.unsubscribeAll();
  process.exit(0);
}

/** The list as the interface asks for it. */
async function names(client) {
  const query = Q(ASSISTANTS).where({}).indexFields(["cozyMetadata.updatedAt"]);
  const { data } = await client.query(query.sortBy([{ "cozyMetadata.updatedAt": "desc" }]));
  return data.map((assistant) => assistant.name);
}

async function assistants(client) {
  const listed = [];
  const { data: cook } = await client.save({ _type: ASSISTANTS, name: "Cook", prompt: "You cook." });
  const { data: guide } = await client.save({ _type: ASSISTANTS, name: "Guide" });
  listed.push(await names(client));
  const { data: chef } = await client.save({ ...cook, name: "Chef" });
  listed.push(await names(client));
  const conflict = await client.save({ ...cook, name: "Late" }).catch((error) => error);
  const known = await client.query(Q(ASSISTANTS).getByIds([chef._id, "unknown"]));
  await client.destroy(guide);
  listed.push(await names(client));
  const all = await client.queryAll(Q(ASSISTANTS).limitBy(1));
  return {
    listed,
    conflict: [conflict.status, conflict.message],
    known: known.data.map(({ name }) => name),
    all: all.map(({ name }) => name).sort(),
  };
}

/** A folder, a file in it, an assistant on it, and the file's index status as it comes. */
async function fileAndStatus(client) {
  const files = client.collection(FILES);
  const { data: folder } = await files.createDirectory({ name: "Papers", dirId: "io.cozy.files.root-dir" });
  const content = "The boiler is reset with the red button.";
  const named = { name: "boiler.txt", dirId: folder._id };
  const { data: file } = await files.createFile(content, { ...named, contentType: "text/plain" });
  const taken = await files.createFile("x", named).catch((error) => error.status);
  const indexed = new Promise((resolve) => {
    for (const event of ["created", "updated"]) {
      client.plugins.realtime.subscribe(event, STATUSES, file._id, (doc) => doc.status === "success" && resolve(doc));
    }
  });
  await subscribed(client);
  const knowledgeBase = { data: [{ _id: folder._id, _type: FILES }] };
  const { data: assistant } = await client.save({ _type: ASSISTANTS, name: "Home", relationships: { knowledgeBase } });
  const job = { data: { attributes: { arguments: { doctype: FILES } } } };
  await client.getStackClient().fetchJSON("POST", "/jobs/queue/rag-index", job);
  const told = await indexed;
  const { data: status } = await client.query(Q(STATUSES).getById(file._id));
  const { data: byIds } = await client.query(Q(FILES).getByIds([file._id]));
  const { data: byId } = await client.query(Q(FILES).getById(file._id));
  return {
    assistantId: assistant._id,
    taken,
    told: told.status,
    status: [status.status, status.docRev === file._rev, status.indexed],
    files: [...byIds, byId].map(({ name, size, mime }) => [name, size, mime]),
  };
}

async function account(client) {
  const auth = { login: "large", password: "sk-very-secret" };
  const { data: saved } = await client.save({ _type: ACCOUNTS, account_type: "openai", auth });
  const { data: read } = await client.query(Q(ACCOUNTS).getById(saved._id));
  return { id: saved._id, saved: saved.auth, read: read.auth };
}

async function chat(client, assistantID) {
  const { realtime } = client.plugins;
  const events = [];
  const conversations = [];
  const ended = new Promise((resolve) =>
    realtime.subscribe("created", CHAT_EVENTS, (doc) => {
      events.push(doc);
      if (["done", "error"].includes(doc.object)) resolve();
    }),
  );
  for (const event of ["created", "updated"]) {
    realtime.subscribe(event, CONVERSATIONS, (doc) => conversations.push(doc));
  }
  await subscribed(client);
  const id = randomUUID();
  const message = { q: "How is the boiler reset?", assistantID };
  await client.getStackClient().fetchJSON("POST", `/ai/chat/conversations/${id}`, message);
  await ended;
  const { data } = await client.query(Q(CONVERSATIONS).getById(id));
  return {
    objects: [...new Set(events.map(({ object }) => object))],
    text: events.filter(({ object }) => object === "delta").map(({ content }) => content).join(""),
    conversations: conversations.map(({ messages }) => messages.length),
    messages: data.messages.map(({ role, content }) => ({ role, content })),
    sources: data.messages.at(-1).sources.map(({ filename }) => filename),
  };
}

/** Until the server has taken the subscriptions: commands are obeyed in order, and an unknown one gets an error. */
async function subscribed(client) {
  const { realtime } = client.plugins.realtime;
  await realtime.waitForSocketReady();
  const { websocket } = realtime;
  const answered = new Promise((resolve) =>
    websocket.on("message", (data) => JSON.parse(data).event === "error" && resolve()),
  );
  websocket.send(JSON.stringify({ method: "MARK" }));
  await answered;
}

function fail(reason) {
  console.error(reason);
  process.exit(1);
}

setTimeout(() => fail(`not done within ${DEADLINE_MS} ms`), DEADLINE_MS).unref();
main(...process.argv.slice(2)).catch(fail);
