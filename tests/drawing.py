"""Draws on a page, as a hand with a mouse does."""


def draw(page, canvas, points):
    """Draw a line through points, each a share of the canvas's width and height.

    Args:
      canvas: the locator of playwright, on the page or in a frame of it.
    """
    box = canvas.bounding_box()
    (x, y), *others = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(x, y)
    page.mouse.down()
    for point in others:
        page.mouse.move(*point, steps=4)
    page.mouse.up()
