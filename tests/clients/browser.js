"use strict";

// What a browser has and Node has not, for the published clients: sockets that know the names under .localhost.

const http = require("node:http");
const nodeFetch = require("node-fetch");
const WebSocket = require("ws");
const { lookup } = require("./loopback");

const agent = new http.Agent({ lookup });

class BrowserWebSocket extends WebSocket {
  constructor(url, protocol) {
    super(url, protocol, { lookup });
  }
}

global.WebSocket = BrowserWebSocket;
global.fetch = (url, options) => nodeFetch(url, { ...options, agent });
