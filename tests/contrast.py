"""How far texts of a page stand out from what is behind them."""

# WCAG's contrast for text, level AA.
LEAST = 4.5
_LOWEST = """
elements => {
    const parse = text => { const c = text.match(/[\\d.]+/g).map(Number); return c.length < 4 ? [...c, 1] : c; };
    const over = ([r, g, b, a], below) => [r, g, b].map((v, i) => v * a + below[i] * (1 - a));
    const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light = color => color.map(linear).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const found = new Map([[null, [255, 255, 255]]]);
    const behind = element => {
        if (!found.has(element))
            found.set(element, over(parse(getComputedStyle(element).backgroundColor), behind(element.parentElement)));
        return found.get(element);
    };
    let lowest = [99, ""];
    for (const element of elements) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        const shown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
        if (!own || !shown || element.closest("script, noscript, style, svg")) continue;
        const back = behind(element), [a, b] = [light(over(parse(getComputedStyle(element).color), back)), light(back)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < lowest[0]) lowest = [contrast, element.outerHTML.slice(0, 200)];
    }
    return lowest;
}
"""


def lowest_contrast(page, elements="[...document.body.querySelectorAll('*')]"):
    """The lowest contrast of a visible text of a page of a browser, from 1 to 21, and the element that has it."""
    return page.evaluate(f"({_LOWEST})({elements})")
