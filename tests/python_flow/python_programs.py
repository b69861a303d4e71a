"""Random structured programs: their text is a function that Python runs, and that jit(python=True) compiles."""

import random

HEAD = "def f(a, b, n, x):\n    p, q, k = a, b, 0\n"


class Program:
    """Nested if, while and for statements with jumps, over two floats, an integer and an array of four."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0
        self.lines = []
        self.block(1, 3, None)
        self.text = HEAD + "\n".join(self.lines) + "\n    return p, q, k\n"

    def say(self, depth, text):
        self.lines.append("    " * depth + text)

    def number(self):
        r = self.random
        return r.choice(
            ["p", "q", "a", "b", "x[k % 4]", "x[0]", f"{r.randint(-3, 3)}.5", "x[1:3].sum()", "x[: k % 5].sum()"]
        )

    def test(self):
        r = self.random
        one = f"{self.number()} {r.choice(['<', '>', '<='])} {self.number()}"
        kind = r.randrange(7)
        if kind == 0:
            return f"{one} and k % 2 == 0"
        if kind == 1:
            return f"not {one} or k > 2"
        if kind == 2:
            return f"{r.randint(-2, 0)} < {self.number()} < {r.randint(1, 3)}"
        return "k % 3 == 1" if kind == 3 else one

    def statement(self, depth, left, loop):
        r = self.random
        kind = r.randrange(14 if left else 7)
        if kind == 0:
            self.say(depth, f"p = {self.number()} * 0.5 + {self.number()}")
        elif kind == 1:
            self.say(depth, f"q = {self.number()} - q * 0.25")
        elif kind == 2:
            self.say(depth, "k += 1")
        elif kind == 3:
            where = r.choice(["0", "1", "k % 4", "1:3", "k % 3 : 3", "x > 1"])
            self.say(depth, f"x[{where}] {r.choice(['=', '+='])} {self.number()} * 0.5")
        elif kind == 4:
            self.say(depth, f"p, q = q, p if {self.test()} else b")
        elif kind == 5:
            self.say(depth, f"row = x[{r.choice(['1:', ':3', '::2', 'k % 3 :'])}]")
            self.say(depth, r.choice(["row[:] = q * 0.5", "row += x[0] * 0.25", "p = row.max()"]))
        elif kind == 6:
            self.say(depth, f"p = min(p, {self.number()}) if k < 3 else max(q, 0.5)")
        elif kind in (7, 8, 9, 10):
            self.say(depth, f"if {self.test()}:")
            self.block(depth + 1, left - 1, loop, jumps=True)
            if r.random() < 0.5:
                self.say(depth, "else:")
                self.block(depth + 1, left - 1, loop, jumps=True)
        else:
            self.loops += 1
            i = f"i{self.loops}"
            if kind == 11:
                self.say(depth, f"{i} = 0")
                self.say(depth, f"while {i} < n % 5 {r.choice(['', f'and ({self.test()})'])}:")
                self.say(depth + 1, f"{i} += 1")
            else:
                size = r.choice(["n", "3", "12", "2, n + 4, 2", "n, 0, -1"])
                self.say(depth, f"for {i} in range({size}):" if kind == 12 else f"for {i}, v in enumerate(x):")
            self.say(depth + 1, f"p = p * 0.75 + {i} * 0.125")
            self.block(depth + 1, left - 1, i, jumps=True)
            if r.random() < 0.2:
                self.say(depth, "else:")
                self.block(depth + 1, left - 1, loop, jumps=True)

    def block(self, depth, left, loop, jumps=False):
        r = self.random
        for _ in range(r.randint(1, 3)):
            self.statement(depth, left, loop)
        if jumps and r.random() < 0.25:
            ways = ["return q, p, k"] + (["break", "continue"] * 2 if loop else [])
            self.say(depth, r.choice(ways))
