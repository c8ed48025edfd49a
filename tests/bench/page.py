"""What the chat page costs its reader: what it loads, its first paint, and its longest tasks.

`python -m tests.bench.page` starts a stack of its own. Tasks are taken from a conversation of 2000 messages (opened,
scrolled to its beginning, asked in) and from an answer of 100 deltas a second for 10 s, beside the same page with 2
messages, and beside a bare page that only appends text. Wanted: 200 kB compressed, 1 s, 100 ms.
"""

import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, WebSocket, expect

from deploy.cli.client import PAGE_SCOPE
from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.bench.clock import median
from tests.bench.people import new_person, runtime_of
from tests.support.browser import chromium
from tests.support.chat_page import ChatPage
from tests.support.page import DESKTOP
from tests.support.sandbox import Sandbox

MESSAGES = 2000
LOADS = 9
RATE, SECONDS = 100, 10
PATIENCE = 60_000  # milliseconds

# Chromium reports what takes 50 ms or more
OBSERVE = """
window.seen = []
for (const type of ['longtask', 'long-animation-frame'])
  new PerformanceObserver((list) => window.seen.push(...list.getEntries())).observe({ type, buffered: true })
"""
SEEN = """() => window.seen.splice(0).map((entry) => [entry.entryType, entry.duration,
  (entry.scripts ?? []).map((script) => `${script.invoker} ${script.duration.toFixed()}`)])"""
LOADED = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .map((entry) => [new URL(entry.name).pathname, entry.encodedBodySize])"""
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
APPEND = """([rate, seconds]) => new Promise((resolve) => {
  let left = rate * seconds
  const timer = setInterval(() => {
    document.body.append('words ')
    if (!(left -= 1)) resolve(clearInterval(timer))
  }, 1000 / rate)
})"""

ANSWER = """Some words about the **question**, with `code` and [a link](https://example.org).

- one thing
- another thing, which is *longer* than the first

| Name | Value |
|---|---|
| rice | 12 |

```python
def answer() -> int:
    return 42
```
"""


def long_markdown() -> str:
    """About what 1000 deltas are: each kind of block is long as well."""
    items = "".join(f"- item {number} of a **long** list, with `code` in it\n" for number in range(40))
    rows = "".join(f"| row {number} | {number * 7} | *some* text |\n" for number in range(40))
    lines = "".join(f"    total += values[{number}] * {number}  # of them\n" for number in range(60))
    words = "A paragraph of *several* words that goes on and on, as answers do. " * 6
    table = f"| Name | Number | Text |\n|---|---|---|\n{rows}"
    return (
        f"## Answer\n\n{words}\n\n{items}\n{words}\n\n{table}\n```python\ndef total(values):\n{lines}```\n\n{words}\n"
    )


@dataclass(frozen=True)
class Longest:
    """Milliseconds of the longest task and of the longest frame; 0 where none took 50."""

    task: float
    frame: float
    why: str = ""

    @classmethod
    def seen(cls, page: Page) -> "Longest":
        entries = page.evaluate(SEEN)
        tasks = [duration for kind, duration, _ in entries if kind == "longtask"]
        frames = [(duration, ", ".join(why)) for kind, duration, why in entries if kind != "longtask"]
        frame, why = max(frames, default=(0.0, ""))
        return cls(max(tasks, default=0.0), frame, why)


@dataclass(frozen=True)
class Bench:
    runtime: Runtime
    instance: Instance
    browser: Browser
    sandbox: Sandbox

    @property
    def home(self) -> str:
        return self.runtime.config.public_url(self.instance.domain)

    def context(self) -> BrowserContext:
        """Signed in, with nothing in its cache."""
        context = self.browser.new_context(locale="en-GB", viewport=DESKTOP)
        context.set_default_timeout(PATIENCE)
        token = create_token(self.instance, "access", "page", PAGE_SCOPE)
        page = context.new_page()
        page.goto(f"{self.home}/static/icon.svg")
        page.evaluate("token => localStorage.setItem('ragcore.token', token)", token)
        page.close()
        context.add_init_script(OBSERVE)
        return context

    def conversation(self, messages: int) -> str:
        """The id of a new one."""
        pairs = [pair for number in range(messages // 2) for pair in _turn(number)]
        doc = {"_id": uuid.uuid4().hex, "messages": pairs, "cozyMetadata": {"updatedAt": "2026-01-01T00:00:00Z"}}
        saved: str = self.runtime.store.save(self.instance, CONVERSATIONS, doc)["_id"]
        return saved


def _turn(number: int) -> Iterator[dict[str, Any]]:
    date = {"createdAt": "2026-01-01T00:00:00Z"}
    yield {"id": f"q{number}", "role": "user", "content": f"Question {number}?", **date}
    yield {"id": f"a{number}", "role": "assistant", "content": f"{number}. {ANSWER}", **date}


def loads(bench: Bench) -> tuple[list[tuple[str, int]], list[float], list[float]]:
    """What is loaded, and the first paints in milliseconds: of new visitors, and of those who come again."""
    first, again = [], []
    for _ in range(LOADS):
        context = bench.context()
        page = context.new_page()
        for paints in (first, again):
            page.goto(bench.home)
            page.get_by_label("Ask something").wait_for()
            page.wait_for_function(PAINTED)
            paints.append(page.evaluate(PAINTED))
            if paints is first:
                loaded = page.evaluate(LOADED)
            page.goto("about:blank")
        context.close()
    return loaded, first, again


def long_conversation(bench: Bench, messages: int) -> dict[str, Longest]:
    doc_id = bench.conversation(messages)
    context = bench.context()
    chat = ChatPage(context.new_page())
    found = {}
    chat.page.goto(f"{bench.home}/#/c/{doc_id}")
    chat.answers.last.wait_for()
    found["opened"] = settled(chat.page)
    while chat.page.locator(".earlier").is_visible():
        chat.log.evaluate("box => box.scrollTop = 0")
        chat.page.wait_for_timeout(50)
    chat.questions.first.get_by_text("Question 0?", exact=True).wait_for()
    found["scrolled to its beginning"] = settled(chat.page)
    bench.sandbox.script({"content": "Word"})
    chat.ask("And now?")
    chat.questions.get_by_text("And now?").wait_for()
    chat.ended()
    found["asked in"] = settled(chat.page)
    found["typed in"] = typed(chat)
    context.close()
    return found


def typed(chat: ChatPage) -> Longest:
    chat.box.press_sequentially("Some words for the box", delay=20)
    return settled(chat.page)


def settled(page: Page) -> Longest:
    """What was seen until nothing was going on any more."""
    page.wait_for_timeout(500)
    return Longest.seen(page)


def stream(bench: Bench, messages: int) -> tuple[Longest, float]:
    """The longest of an answer, and how many deltas a second came really."""
    doc_id = bench.conversation(messages)
    context = bench.context()
    chat = ChatPage(context.new_page())
    events: list[str] = []
    chat.page.on("websocket", lambda socket: listen(socket, events.append))
    chat.page.goto(f"{bench.home}/#/c/{doc_id}")
    chat.answers.last.wait_for()
    settled(chat.page)
    text = long_markdown()
    size = len(text) / (RATE * SECONDS)
    cuts = [round(number * size) for number in range(RATE * SECONDS + 1)]
    pieces = [text[begin:end] for begin, end in zip(cuts, cuts[1:], strict=False)]
    script = [item for piece in pieces for item in ({"content": piece}, {"sleep": 1 / RATE})]
    bench.sandbox.script(*script)
    began = chat.page.evaluate("performance.now()")
    chat.ask("A long answer, please")
    chat.page.wait_for_function("() => document.querySelector('.message[aria-busy=true]')")
    chat.page.wait_for_function("() => !document.querySelector('.message[aria-busy=true]')")
    took = (chat.page.evaluate("performance.now()") - began) / 1000
    longest = settled(chat.page)
    context.close()
    return longest, sum('"delta"' in event for event in events) / took


def listen(socket: WebSocket, take: Callable[[str], None]) -> None:
    socket.on("framereceived", lambda frame: take(str(frame)))


def bare(bench: Bench) -> Longest:
    context = bench.context()
    page = context.new_page()
    page.goto(f"{bench.home}/static/icon.svg")
    page.goto("about:blank")
    page.evaluate(APPEND, [RATE, SECONDS])
    longest = settled(page)
    context.close()
    return longest


def report(name: str, longest: Longest) -> None:
    task, frame = (f"{value:6.0f} ms" if value else "  < 50 ms" for value in (longest.task, longest.frame))
    print(f"{name:<52}task {task}   frame {frame}   {longest.why}".rstrip())


def main() -> None:
    expect.set_options(timeout=PATIENCE)
    with tempfile.TemporaryDirectory() as data, Stack(Path(data)) as stack, chromium() as browser:
        runtime = runtime_of(stack)
        person = new_person(runtime, "page.localhost")
        bench = Bench(runtime, person.client.instance, browser, Sandbox(stack.url("openrag")))
        loaded, first, again = loads(bench)
        ours = [size for path, size in loaded if path == "/" or path.startswith("/static/")]
        print(f"the page: {len(ours)} requests, {sum(ours) / 1000:.0f} kB compressed")
        print(f"first paint, medians of {LOADS}: {median(first):.0f} ms, {median(again):.0f} ms for who comes again")
        for messages in (MESSAGES, 2):
            for name, longest in long_conversation(bench, messages).items():
                report(f"{messages} messages, {name}", longest)
        for messages in (MESSAGES, 2):
            longest, rate = stream(bench, messages)
            report(f"{messages} messages, {rate:.0f} deltas a second for {SECONDS} s", longest)
        report(f"a bare page that appends {RATE} times a second", bare(bench))


if __name__ == "__main__":
    main()
