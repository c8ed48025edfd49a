"""Pictures of a page, kept in the checkout: written anew only where one would see a difference."""

import base64
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, Page

QUALITY = 80
SEEN = 0.002  # of the pixels: fewer are a cursor, or the edges of letters

DIFFERENT = """async pictures => {
  const pixels = async (picture) => {
    const image = new Image()
    image.src = `data:image/webp;base64,${picture}`
    await image.decode()
    const { width, height } = image
    const canvas = new OffscreenCanvas(width, height).getContext('2d')
    canvas.drawImage(image, 0, 0)
    return { width, height, data: canvas.getImageData(0, 0, width, height).data }
  }
  const [one, other] = await Promise.all(pictures.map(pixels))
  if (one.width !== other.width || one.height !== other.height) return 1
  let count = 0
  for (let place = 0; place < one.data.length; place += 4)
    if ([0, 1, 2].some((colour) => Math.abs(one.data[place + colour] - other.data[place + colour]) > 40)) count += 1
  return count * 4 / one.data.length
}"""


def taken(page: Page) -> str:
    """A picture of what is in sight: WebP, in base64."""
    session = page.context.new_cdp_session(page)
    picture: str = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})["data"]
    session.detach()
    return picture


def keep(browser: Browser, pictures: Mapping[Path, str]) -> None:
    page = browser.new_page()
    for file, picture in pictures.items():
        if not file.exists() or _differ(page, base64.b64encode(file.read_bytes()).decode(), picture):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(base64.b64decode(picture))
    page.close()


def _differ(page: Page, *pictures: str) -> bool:
    return float(page.evaluate(DIFFERENT, pictures)) > SEEN
