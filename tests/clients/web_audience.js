"use strict";

// Many web clients on the published cozy-realtime: `node web_audience.js URL TOKEN SOCKETS CONVERSATION/QUESTION...`
//
// Each has a websocket of its own, and follows one of the questions in turn until its end: most of them subscribe to
// the question by its id, the others to all chat events, and read the conversation after a lost connection and at the
// end. Prints "subscribed" once all are, and at the end a line of JSON for each client.

require("./browser");
const { RealtimePlugin } = require("cozy-realtime");
const { Client, subscribed } = require("./logged_in");

const CONVERSATIONS = "io.cozy.ai.chat.conversations";
const CHAT_EVENTS = "io.cozy.ai.chat.events";
const OF_ALL = 20; // clients that subscribe to all chat events
const DEADLINE_MS = 60_000;

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/** `told` is what came, with the number of the connection that it came by; `text` is the answer as it was read. */
class Follower {
  constructor(uri, token, conversation, question, byId) {
    Object.assign(this, { uri, token, conversation, question, byId, told: [], text: null, connections: 0 });
    this.ended = new Promise((resolve) => (this.end = resolve));
    const { realtime } = new RealtimePlugin(new Client(uri, token), { logger });
    this.realtime = realtime;
    realtime.on("ready", () => this.connected());
    const handler = (doc) => doc._id === question && this.take(doc);
    if (byId) realtime.subscribe("created", CHAT_EVENTS, question, handler);
    else realtime.subscribe("created", CHAT_EVENTS, handler);
  }

  connected() {
    this.connections += 1;
    if (this.connections > 1 && !this.byId) this.read();
  }

  take({ object, position }) {
    this.told.push({ connection: this.connections, object, position });
    if (object !== "done" && object !== "error") return;
    if (this.byId) this.end();
    else this.read();
  }

  async read() {
    const headers = { Authorization: `Bearer ${this.token}` };
    const response = await fetch(`${this.uri}/data/${CONVERSATIONS}/${this.conversation}`, { headers });
    const last = (await response.json()).messages.at(-1);
    if (last.role !== "assistant") return;
    this.text = last.content;
    this.end();
  }

  summary() {
    const { question, byId, connections, told, text } = this;
    return { question, byId, connections, told, text };
  }
}

async function main([uri, token, sockets, ...questions]) {
  const deadline = new Promise((resolve) => setTimeout(resolve, DEADLINE_MS).unref());
  const followers = Array.from({ length: Number(sockets) }, (_, number) => {
    const [conversation, question] = questions[number % questions.length].split("/");
    return new Follower(uri, token, conversation, question, number >= OF_ALL);
  });
  await Promise.all(followers.map(({ realtime }) => subscribed(realtime)));
  console.log("subscribed");
  await Promise.race([Promise.all(followers.map(({ ended }) => ended)), deadline]);
  const lines = followers.map((follower) => `${JSON.stringify(follower.summary())}\n`);
  process.stdout.write(lines.join(""), () => process.exit(0));
}

main(process.argv.slice(2)).catch((reason) => {
  console.error(reason);
  process.exit(1);
});
