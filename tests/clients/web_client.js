"use strict";

// A web client on the published cozy-realtime: `node web_client.js URL TOKEN QUESTION...`
//
// Subscribes to the conversations and the chat events, asks each question in turn in one conversation, and
// prints a line of JSON for each event, in the order in which they come: {"event", "doc"}, the doc as
// cooked by cozy-realtime (the document's fields and `_type`).

require("./browser");
const { EventEmitter, once } = require("node:events");
const http = require("node:http");
const { randomUUID } = require("node:crypto");
const { RealtimePlugin } = require("cozy-realtime");
const { Client, subscribed } = require("./logged_in");
const { lookup } = require("./loopback");

const CONVERSATIONS = "io.cozy.ai.chat.conversations";
const CHAT_EVENTS = "io.cozy.ai.chat.events";
const DEADLINE_MS = 30_000;

function subscribe(realtime, seen) {
  for (const doctype of [CONVERSATIONS, CHAT_EVENTS]) {
    for (const event of ["created", "updated"]) {
      realtime.subscribe(event, doctype, (doc) => {
        console.log(JSON.stringify({ event: event.toUpperCase(), doc }));
        if (["done", "error"].includes(doc.object)) seen.emit("end");
      });
    }
  }
}

function post(client, path, body) {
  const { uri, getAccessToken } = client.getStackClient();
  const headers = { Authorization: `Bearer ${getAccessToken()}`, "Content-Type": "application/json" };
  return new Promise((resolve, reject) => {
    const request = http.request(`${uri}${path}`, { method: "POST", headers, lookup }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    request.on("error", reject);
    request.end(JSON.stringify(body));
  });
}

async function ask(client, conversation, q, seen) {
  const ended = once(seen, "end");
  const status = await post(client, `/ai/chat/conversations/${conversation}`, { q });
  if (status !== 202) throw new Error(`the question was answered ${status}`);
  await ended;
}

async function main([uri, token, ...questions]) {
  setTimeout(() => fail(`nothing came within ${DEADLINE_MS} ms`), DEADLINE_MS).unref();
  const logger = { debug() {}, info() {}, warn() {}, error: console.error };
  const client = new Client(uri, token);
  const plugin = new RealtimePlugin(client, { logger });
  const seen = new EventEmitter();
  subscribe(plugin, seen);
  await subscribed(plugin.realtime);
  const conversation = randomUUID();
  for (const question of questions) await ask(client, conversation, question, seen);
  plugin.unsubscribeAll(); // which closes the websocket
}

function fail(reason) {
  console.error(reason);
  process.exit(1);
}

main(process.argv.slice(2)).catch(fail);
