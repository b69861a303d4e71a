"""The host part of a function as C99."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from passes import printed
from passes.kernels.dispatch import Kernel
from stagec.compiler.direct.program import Call, Number, Tensor
from stagec.core.location import Location
from stagec.standalone.c_sizes import by_sizes
from stagec.standalone.function import Function, Parameter, Routine
from stagec.standalone.names import constant
from stagec.standalone.plan import Address, Assign, Base, Keep, Load, Move, Repeat, Run, Statement, Store, Switch, While

_TYPES = {"i1": "int32_t", "i32": "int32_t", "i64": "int64_t"}
_ORDERS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}

_RUN = """
/* A kernel with what it reads: the addresses of its memory, and below the numbers of a workgroup along three axes. */
typedef int32_t kernel(const void *environment, const void *memory, const void *group);
typedef struct { void *at __attribute__((aligned(8))); } place;
typedef struct {
  struct { uint64_t unused[4]; const place *addresses; } memory __attribute__((aligned(16)));
  kernel *code;
  uint32_t x, y;
} launch;

static void group(void *state, uint32_t i)
{
  const launch *of = state;
  const struct { uint32_t x, y; uint16_t z; } at __attribute__((aligned(16))) = {
    i % of->x, i / of->x % of->y, (uint16_t)(i / of->x / of->y)
  };
  of->code(of, &of->memory, &at);
}

/* Runs the workgroups of a kernel: one after the other, or as the caller's threads share them. */
static void run(const stagec_threads *threads, kernel *code, uint32_t x, uint32_t y, uint32_t z, const place *addresses)
{
  launch of = {{{0}, addresses}, code, x, y};
  if (threads && x * y * z > 1)
    threads->run(threads->context, x * y * z, group, &of);
  else
    for (uint32_t i = 0; i < x * y * z; i++) group(&of, i);
}
"""
_REPEAT = """
/* Fills memory with copies of some bytes. */
static void repeat(void *memory, const void *from, size_t bytes, size_t period)
{
  for (size_t at = 0; at < bytes; at += period)
    memcpy((unsigned char *)memory + at, from, bytes - at < period ? bytes - at : period);
}
"""


def helpers(text: str) -> str:
    """The functions that generated text calls."""
    return (_RUN if " run(" in text else "") + (_REPEAT if " repeat(" in text else "")


def declared(parameters: Sequence[Parameter], is_constant: bool) -> list[str]:
    """The parameters of a function."""
    return [f"{'const ' if is_constant else ''}{p.scalar.type} *{p.name}" for p in parameters]


def routines(function: Function, found: Sequence[Routine], symbol: str) -> str:
    """A static function for a processor.

    Args:
      found: its plan, or those for some sizes.
      symbol: its name, with which the names of kernels begin.
    """
    lines = [line for routine in found for line in _Printer(function, routine, symbol).text()]
    if function.sizes:
        lines += by_sizes(function, found, symbol, *parameters(function))
    return "\n".join(lines) + "\n"


def parameters(function: Function) -> tuple[list[str], list[str]]:
    """The parameters of static functions: their declarations and their names."""
    arrays = (*function.arguments, *function.results, *function.numbers)
    declarations = [*declared(function.arguments, True), *declared(function.results, False)]
    declarations += declared(function.numbers, True)
    declarations += ["const unsigned char *weights"] if function.in_file else []
    names = [*(p.name for p in arrays), *(["weights"] if function.in_file else []), "work", "threads"]
    return [*declarations, "unsigned char *work", "const stagec_threads *threads"], names


class _Printer:
    def __init__(self, function: Function, routine: Routine, symbol: str) -> None:
        self.function, self.routine, self.symbol = function, routine, symbol
        self._used: set[str] = set()

    def text(self) -> Iterator[str]:
        function, plan = self.function, self.routine.plan
        body = list(self._statements(plan.statements, "  "))
        starts = {n: self._address(first, "unsigned char *") for n, first in plan.pointers.items()}
        head = [f"  unsigned char *p{n} = {start};" for n, start in starts.items()]
        head += [f"  {_TYPES[type_]} n{n} = 0;" for n, type_ in plan.numbers.items()]
        given, names = parameters(function)
        symbols = [self.kernel(symbol) for symbol in self.routine.kernels]
        yield ""
        yield from (f"kernel {name};" for name in symbols)
        yield ""
        yield f"static void {self.routine.named(self.symbol)}({', '.join(given)})"
        yield "{"
        yield from head
        yield from (f"  (void){name};" for name in names if name not in self._used)
        yield from body
        yield "}"

    def kernel(self, symbol: str) -> str:
        """The name of a kernel's function."""
        return self.routine.kernel(self.symbol, symbol)

    # Memory.

    def _address(self, address: Address, cast: str = "") -> str:
        """An address; of an argument or constant, without `const` if it is cast."""
        name, offset = self._base(address.base), address.offset
        if name == "weights":
            offset += self.function.constants.offsets[address.base.number]
        self._used.add(name)
        if address.base.kind in ("pointer", "workspace") or not (cast or offset):
            return f"{name} + {offset}" if offset else name
        return f"(unsigned char *){name} + {offset}" if offset else f"({cast}){name}"

    def _operand(self, address: Address) -> str:
        """An address in the table that a kernel gets."""
        return self._address(address, "void *" if address.base.kind in ("argument", "constant") else "")

    def _number(self, n: int) -> str:
        """A number: a variable, or a literal."""
        known = self.routine.plan.literals.get(n)
        return f"n{n}" if known is None else _literal(known)

    def _base(self, base: Base) -> str:
        if base.kind == "argument":
            return (*self.function.arguments, *self.function.numbers)[base.number].name
        if base.kind == "result":
            return self.function.results[base.number].name
        if base.kind == "constant":
            return "weights" if self.function.in_file else constant(self.function.name, base.number)
        return f"p{base.number}" if base.kind == "pointer" else "work"

    # Statements.

    def _statements(self, statements: Sequence[Statement], indent: str) -> Iterator[str]:
        for statement in statements:
            yield from (f"{indent}{line}" for line in self._statement(statement))

    def _statement(self, statement: Statement) -> Iterator[str]:
        if isinstance(statement, Run):
            yield from self._run(statement)
        elif isinstance(statement, Move):
            target, source = self._address(statement.target), self._address(statement.source)
            if statement.period == statement.bytes:
                yield f"memcpy({target}, {source}, {statement.bytes});"
            else:
                yield f"repeat({target}, {source}, {statement.bytes}, {statement.period});"
        elif isinstance(statement, Repeat):
            if len(statement.pattern) == 1:
                yield f"memset({self._address(statement.target)}, {statement.pattern[0]}, {statement.bytes});"
            else:
                text = "".join([f"\\x{byte:02x}" for byte in statement.pattern])
                size = len(statement.pattern)
                yield f'repeat({self._address(statement.target)}, "{text}", {statement.bytes}, {size});'
        elif isinstance(statement, Keep):
            result, source = Address(Base("result", statement.result)), self._address(statement.pointer)
            test = f"{source} != {self._address(result, 'unsigned char *')}"
            yield f"if ({test}) memcpy({self._address(result)}, {source}, {statement.bytes});"
        elif isinstance(statement, Load):
            yield from self._load(statement)
        elif isinstance(statement, Store):
            yield from self._store(statement)
        elif isinstance(statement, Assign):
            numbers = [(f"n{target}", self._number(source)) for target, source in statement.numbers]
            yield from _assigned(numbers, "int64_t ")
            pointers = [(f"p{target}", f"p{source}") for target, source in statement.pointers]
            yield from _assigned(pointers, "unsigned char *")
        elif isinstance(statement, Number):
            operands = list(map(self._number, statement.operands))
            yield f"n{statement.result} = {_RULES[statement.operation](statement, operands)};"
        elif isinstance(statement, While):
            yield "for (;;) {"
            yield from self._statements(statement.condition, "  ")
            yield f"  if (!{self._number(statement.test)}) break;"
            yield from self._statements(statement.body, "  ")
            yield "}"
        else:
            yield from self._switch(statement)

    def _run(self, run: Run) -> Iterator[str]:
        x, y, z = (*self.routine.kernels[run.call.kernel].workgroups, 1, 1, 1)[:3]
        self._used.add("threads")
        yield f"/* {described(run.call, self.routine.kernels[run.call.kernel])} */"
        memory = ", ".join([f"{{{self._operand(address)}}}" for address in run.memory])
        yield f"run(threads, {self.kernel(run.call.kernel)}, {x}, {y}, {z}, (place[]){{{memory}}});"

    def _load(self, load: Load) -> Iterator[str]:
        if load.type == "i1":
            yield f"n{load.number} = *({self._address(load.source, 'const unsigned char *')}) != 0;"
        else:
            yield f"memcpy(&n{load.number}, {self._address(load.source)}, sizeof n{load.number});"

    def _store(self, store: Store) -> Iterator[str]:
        target, type_ = self._address(store.target), "uint8_t" if store.type == "i1" else _TYPES[store.type]
        yield f"memcpy({target}, &({type_}){{{self._number(store.number)}}}, sizeof({type_}));"

    def _switch(self, switch: Switch) -> Iterator[str]:
        for i, branch in enumerate(switch.branches):
            last = i == len(switch.branches) - 1
            test = "" if last else f"if ({self._number(switch.selector)} == {i}) "
            yield f"{'} else ' if i else ''}{test}{{"
            yield from self._statements(branch, "  ")
        yield "}"


def _assigned(pairs: Sequence[tuple[str, str]], type_: str) -> Iterator[str]:
    """Assignments that take place at the same time."""
    changed: set[str] = set()
    for target, source in pairs:
        if source in changed:
            break
        changed.add(target)
    else:
        yield from (f"{target} = {source};" for target, source in pairs if target != source)
        return
    yield "{"
    yield from (f"  {type_}new_{target} = {source};" for target, source in pairs)
    yield from (f"  {target} = new_{target};" for target, _ in pairs)
    yield "}"


def described(call: Call, kernel: Kernel) -> str:
    """A kernel's name, the shapes of its operands and results, and the user's line, as a comment."""
    operands, results = (call.types[: len(call.read)], call.types[len(call.read) :])
    text = f"{call.kernel}: {_shown(operands)} -> {_shown(results)}"
    places = map(printed.location, (call.location, *kernel.locations.values()))
    found = next((place for place in places if place is not None), None)
    if found is not None:
        line = Location(found.file, found.line, "")
        text += f"   {line.brief()}  {line.source()}".rstrip()
    return comment(text)


def comment(text: str) -> str:
    """A text that does not end a comment, and has nothing in it that compilers warn of."""
    for part in ("*/", "/*", "//", "??"):
        text = text.replace(part, " ".join(part))
    return text.rstrip("\\")


def _shown(tensors: Sequence[Tensor]) -> str:
    return ", ".join([f"{tensor.element}[{','.join(map(str, tensor.shape))}]" for tensor in tensors])


def _wrapping(operator: str) -> Callable[[Number, Sequence[str]], str]:
    def rule(number: Number, operands: Sequence[str]) -> str:
        # Signed integers that overflow have no defined value.
        signed, unsigned = _TYPES[number.type], f"u{_TYPES[number.type]}"
        return f"({signed})({f' {operator} '.join([f'({unsigned}){name}' for name in operands])})"

    return rule


def _operator(operator: str) -> Callable[[Number, Sequence[str]], str]:
    return lambda number, operands: f"{operands[0]} {operator} {operands[1]}"


def _chosen(operator: str) -> Callable[[Number, Sequence[str]], str]:
    return lambda number, operands: "{0} {2} {1} ? {0} : {1}".format(*operands, operator)


def _literal(number: Number) -> str:
    value = int(number.value)
    # The least integers have no literals.
    least = {"i32": "INT32_MIN", "i64": "INT64_MIN"}.get(number.type, "")
    if number.type != "i1" and value == -(1 << int(number.type[1:]) - 1):
        return least
    return f"INT64_C({value})" if number.type == "i64" else str(value)


def _convert(number: Number, operands: Sequence[str]) -> str:
    return f"{operands[0]} != 0" if number.result_type == "i1" else f"({_TYPES[number.result_type]}){operands[0]}"


_RULES: dict[str, Callable[[Number, Sequence[str]], str]] = {
    "add": _wrapping("+"),
    "and": _operator("&"),
    "compare": lambda number, operands: f"{operands[0]} {_ORDERS[str(number.value)]} {operands[1]}",
    "convert": _convert,
    "maximum": _chosen(">"),
    "minimum": _chosen("<"),
    "multiply": _wrapping("*"),
    "negate": lambda number, operands: _wrapping("-")(number, ["0", *operands]),
    "not": lambda number, operands: f"!{operands[0]}" if number.type == "i1" else f"~{operands[0]}",
    "or": _operator("|"),
    "select": lambda number, operands: "{} ? {} : {}".format(*operands),
    "subtract": _wrapping("-"),
    "xor": _operator("^"),
}
