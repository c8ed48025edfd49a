// A box that stays at its end while its content grows, unless the person scrolled away from it.

const NEAR = 48 // pixels

export class Scroller {
  #atEnd = true

  constructor(element) {
    this.element = element
    element.addEventListener('scroll', () => (this.#atEnd = this.#distance() < NEAR), { passive: true })
    new ResizeObserver(() => this.follow()).observe(element)
  }

  #distance() {
    const { scrollHeight, scrollTop, clientHeight } = this.element
    return scrollHeight - scrollTop - clientHeight
  }

  toEnd() {
    this.#atEnd = true
    this.follow()
  }

  follow() {
    if (this.#atEnd) this.element.scrollTop = this.element.scrollHeight
  }

  /** What is in sight stays where it is, whatever is put above it. */
  keep(change) {
    const fromEnd = this.element.scrollHeight - this.element.scrollTop
    change()
    this.element.scrollTop = this.element.scrollHeight - fromEnd
  }
}
