"use strict";

// What the published cozy-realtime stands on, for the scripts that run it in Node.

const { EventEmitter } = require("node:events");

/** As much of a logged-in cozy-client as cozy-realtime uses; its events are `login`, `logout`, `tokenRefreshed`. */
class Client extends EventEmitter {
  constructor(uri, token) {
    super();
    this.isLogged = true;
    this.stackClient = { uri, getAccessToken: () => token };
  }

  getStackClient() {
    return this.stackClient;
  }
}

/**
 * Until the server has taken the subscriptions: commands are obeyed in order, and one that it does not know is
 * answered by an error. (A page does not wait so: its user takes longer to type a question.)
 */
async function subscribed(realtime) {
  await realtime.waitForSocketReady();
  const { websocket } = realtime;
  websocket.send(JSON.stringify({ method: "MARK" }));
  await new Promise((resolve) =>
    websocket.on("message", (data) => {
      if (JSON.parse(data).event === "error") resolve();
    }),
  );
}

module.exports = { Client, subscribed };
