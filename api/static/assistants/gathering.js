// Ids that come one by one, and many at once, handed on together.

const AFTER = 300 // ms

export class Gathering {
  #ids = new Set()
  #timer = 0

  /** `act(ids)` is called some time after the first of them. */
  constructor(act) {
    this.act = act
  }

  add(id) {
    this.#ids.add(id)
    this.#timer ||= setTimeout(() => this.#hand(), AFTER)
  }

  #hand() {
    const ids = [...this.#ids]
    this.close()
    this.act(ids)
  }

  close() {
    clearTimeout(this.#timer)
    this.#timer = 0
    this.#ids.clear()
  }
}
