"""Pages in a browser, and what they report and ask for."""

import contextlib


@contextlib.contextmanager
def watched(browser):
    """A function that opens an address in a context with some options, and lists of what all pages report and ask for.

    The pages are closed at the end.
    """
    contexts, said, asked = [], [], []

    def open_page(address, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        return page

    yield open_page, said, asked
    for context in contexts:
        context.close()
