"use strict";

const fs = require("node:fs");
const path = require("node:path");
const PouchDB = require("pouchdb");
const { getOrCreateDB, deleteDB } = require("express-pouchdb/lib/create-or-delete-dbs");
const names = require("./names");

/**
 * The databases of one folder. PouchDB makes a database when it is first touched and keeps no list, so the
 * list is kept here: what is on disk at the start, then what was created and deleted since.
 */
class Databases {
  constructor(dir) {
    fs.mkdirSync(dir, { recursive: true });
    this.PouchDB = PouchDB.defaults({ prefix: dir + path.sep });
    this.PouchDB.allDbs = () => Promise.resolve([...this.known].map(names.toFolder));
    this.known = new Set(databasesOnDisk(dir));
    this.turns = new Map();
    this.uses = new Map();
  }

  has(name) {
    return this.known.has(name);
  }

  list() {
    return [...this.known].sort();
  }

  open(name) {
    return getOrCreateDB(this.PouchDB, names.toFolder(name));
  }

  /** True when this call made the database: of several at the same time one does, the others get false. */
  create(name) {
    return this.inTurn(name, async () => {
      if (this.known.has(name)) return false;
      const db = await this.open(name);
      await db.info(); // opened, and its folder is there
      this.known.add(name);
      return true;
    });
  }

  /** True when this call deleted the database. Nothing new begins on it, what was begun is ended first. */
  remove(name, endFeeds) {
    return this.inTurn(name, async () => {
      if (!this.known.delete(name)) return false;
      endFeeds(name);
      await this.unused(name);
      await deleteDB(this.PouchDB, names.toFolder(name), {});
      return true;
    });
  }

  /** Say that a request works on a database; gives the function that says that it is over. */
  use(name) {
    const uses = this.uses.get(name) || { count: 0, over: [] };
    this.uses.set(name, uses);
    uses.count += 1;
    return () => {
      uses.count -= 1;
      if (uses.count > 0) return;
      this.uses.delete(name);
      uses.over.forEach((resolve) => resolve());
    };
  }

  /** A request that PouchDB has not answered when its database goes away is never answered. */
  unused(name) {
    const uses = this.uses.get(name);
    return uses ? new Promise((resolve) => uses.over.push(resolve)) : Promise.resolve();
  }

  inTurn(name, act) {
    const before = this.turns.get(name) || Promise.resolve();
    const turn = before.then(act, act);
    this.turns.set(name, turn);
    const forget = () => this.turns.get(name) === turn && this.turns.delete(name);
    turn.then(forget, forget);
    return turn;
  }

  async close() {
    const opened = [];
    (this.PouchDB.__dbCacheMap || new Map()).forEach((db) => opened.push(db));
    await Promise.allSettled(opened.map((db) => db.close()));
  }
}

function databasesOnDisk(dir) {
  return fs
    .readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.includes("-mrview-"))
    .map((entry) => names.fromFolder(entry.name))
    .filter(names.isValid);
}

module.exports = Databases;
