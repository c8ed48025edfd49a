"""The chat page as a person uses it, for tests."""

from playwright.sync_api import Locator, Page, expect

FROM_END = "box.scrollHeight - box.scrollTop - box.clientHeight"


class ChatPage:
    """An opened page, whose texts are English."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.box = page.get_by_label("Ask something")
        self.answers = page.get_by_role("article", name="Answer")
        self.questions = page.get_by_role("article", name="You")
        self.sidebar = page.locator("#sidebar")
        self.conversations = self.sidebar.locator("ul").first.locator("a")
        self.stop = page.get_by_role("button", name="Stop")
        self.retry = page.get_by_role("button", name="Try again")
        self.log = page.locator(".scroll")

    @property
    def answer(self) -> Locator:
        return self.answers.last

    @property
    def text(self) -> Locator:
        """What the last answer says."""
        return self.answer.locator(".text")

    def ask(self, question: str) -> None:
        self.box.fill(question)
        self.box.press("Enter")
        expect(self.box).to_have_value("")

    def ended(self) -> None:
        """The last answer is over."""
        expect(self.answer).to_have_attribute("aria-busy", "false")

    def from_end(self) -> float:
        """Pixels that the conversation could be scrolled down."""
        return float(self.log.evaluate(f"box => {FROM_END}"))

    def wait_from_end(self, condition: str) -> None:
        """Waits until from_end() is as the condition says, such as "< 2"."""
        self.page.wait_for_function(f"box => {FROM_END} {condition}", arg=self.log.element_handle())

    def top(self) -> float:
        return float(self.log.evaluate("box => box.scrollTop"))

    def rest(self) -> float | None:
        """The place in the conversation, if it does not move: wheels turn smoothly."""
        before = self.top()
        self.page.wait_for_timeout(50)
        return before if self.top() == before else None
