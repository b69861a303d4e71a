// @label@, compiled by @by@ to WebAssembly.

export const inputs = [
@arguments@];

export const outputs = [
@results@];

const workspace = @workspace@;
const held = @weights@;
// The sizes that are open. The product of those that count rows is the number of independent rows, of which there is
// code for blocks. One such size alone follows from the arrays; else a call begins with an object of the sizes.
const sizes = @sizes@;
const isCounted = @counted@;
const blocks = @blocks@;
// What arrays are padded to along other sizes, if there is no code for each of their values.
const paddings = @paddings@;

@load@
// The function: of typed arrays, which it copies, to a new one, or to an object with several.
async function prepared(instantiated, source = beside("@name@.wasm"), weights = held && beside(held.file)) {
  const [module, bytes] = await Promise.all([content(source), held && content(weights)]);
  let end = 0;
  const place = (bytes) => {
    const start = Math.ceil(end / 64) * 64;
    end = start + bytes;
    return start;
  };
  const places = [...inputs, ...outputs].map((one) => place((one.most ?? one.length) * one.array.BYTES_PER_ELEMENT));
  const others = sizes.filter((one) => !one.countsRows);
  if (paddings) places.push(...others.map(() => place(4)));
  if (held) places.push(place(held.bytes));
  places.push(place(workspace));
  const { memory, __heap_base: heap, ...runs } = (await instantiated(module, end)).exports;
  places.forEach((_, i) => (places[i] += Math.ceil(heap.value / 64) * 64));
  if (held) new Uint8Array(memory.buffer).set(checked(bytes), places[places.length - 2]);
  const view = (one, i, count) => new one.array(memory.buffer, places[i], count);
  const named = (made) =>
    made.length === 1 ? made[0] : Object.fromEntries(made.map((array, i) => [outputs[i].name, array]));
  if (!sizes.length) {
    const views = [...inputs, ...outputs].map((one, i) => view(one, i, one.length));
    return (...arrays) => {
      sizesOf(arrays);
      inputs.forEach((_, i) => views[i].set(arrays[i]));
      runs["@name@"](...places);
      return named(views.slice(inputs.length).map((one) => one.slice()));
    };
  }
  return (...arrays) => {
    const known = sizesOf(arrays);
    const rows = sizes.reduce((count, one) => (one.countsRows ? count * known[one.name] : count), 1);
    const room = { ...known, ...paddings?.find((one) => others.every(({ name }) => known[name] <= one[name])) };
    const code = ["@name@", ...others.map((one) => room[one.name])].join("_");
    const step = (one, sizes = known) => (one.hasRows ? length(one, sizes) / rows : length(one, sizes));
    const shape = (one, sizes, count) => [count, ...(one.dims?.(sizes) ?? [step(one)])];
    const copied = (one, i, given, count = 1) =>
      copy(view(one, i, count * step(one, room)), given, shape(one, room, count), shape(one, known, count));
    if (paddings) others.forEach((one, i) => view({ array: Int32Array }, numbers + i, 1).fill(known[one.name]));
    inputs.forEach((one, i) => one.hasRows || copied(one, i, arrays[i]));
    const made = outputs.map((one) => new one.array(length(one, known)));
    let at = 0;
    for (const size of blocks) {
      const run = runs[sizes.some((one) => one.countsRows) ? `${code}_${size}` : code];
      for (; run && rows - at >= size; at += size) {
        const part = (one) => [at * step(one), (at + size) * step(one)];
        inputs.forEach((one, i) => one.hasRows && copied(one, i, arrays[i].subarray(...part(one)), size));
        run(...places);
        outputs.forEach((one, i) => {
          const count = one.hasRows ? size : 1, target = one.hasRows ? made[i].subarray(...part(one)) : made[i];
          const found = view(one, inputs.length + i, count * step(one, room));
          copy(target, found, shape(one, known, count), shape(one, room, count));
        });
      }
    }
    if (at < rows) throw new RangeError(`@name@ is not for the sizes ${JSON.stringify(known)}`);
    return named(made);
  };
}

const numbers = inputs.length + outputs.length;

// Copies the elements that two arrays of these shapes have in common.
function copy(target, source, to, from) {
  let last = to.length - 1, part = 1;
  for (; last > 0 && to[last] === from[last]; last--) part *= to[last];
  const stride = (shape, axis) => shape.slice(axis + 1, last + 1).reduce((product, n) => product * n, part);
  const along = (axis, t, f) => {
    const count = Math.min(to[axis], from[axis]);
    if (axis === last) target.set(source.subarray(f, f + count * part), t);
    else for (let i = 0; i < count; i++) along(axis + 1, t + i * stride(to, axis), f + i * stride(from, axis));
  };
  along(0, 0, 0);
}

const length = (one, known) => (one.length.call ? one.length(known) : one.length);

const beside = (file) => new URL(`./${file}`, import.meta.url);

// The bytes of a file, or what is given instead of them.
async function content(source) {
  if (typeof source === "string") source = new URL(source, globalThis.location ?? import.meta.url);
  if (source instanceof URL && source.protocol === "file:" && globalThis.process)
    source = await (await import("node:fs/promises")).readFile(source);
  else if (source instanceof URL) source = await fetch(source);
  // A response; the mere name of its class takes Node some 20 ms, in which it loads all that fetches.
  if (typeof source.arrayBuffer === "function") {
    if (!source.ok) throw new Error(`${source.url}: ${source.status} ${source.statusText}`);
    source = await source.arrayBuffer();
  }
  return source;
}

// The bytes of the weights, if they are those of the module.
function checked(source) {
  const bytes = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
  const mark = Array.from(bytes.subarray(0, held.mark.length / 2), (byte) => byte.toString(16).padStart(2, "0"));
  if (mark.join("") !== held.mark || bytes.length !== held.bytes)
    throw new Error(`@name@.wasm needs the ${held.file} that was written with it`);
  return bytes;
}

// The open sizes of arguments that fit; the object of sizes is removed from these.
function sizesOf(arrays) {
  const known = sizes.length && !isCounted ? arrays.shift() : {};
  if (arrays.length !== inputs.length) throw new TypeError(`@name@ takes ${inputs.length} arrays, not ${arrays.length}`);
  inputs.forEach(({ name, array }, i) => {
    if (!(arrays[i] instanceof array))
      throw new TypeError(`${name} is a ${array.name}, not ${arrays[i]?.constructor?.name}`);
  });
  const first = inputs.findIndex((one) => one.row);
  if (isCounted) known[sizes[0].name] = first < 0 ? 1 : Math.floor(arrays[first].length / inputs[first].row);
  for (const { name, least, most } of sizes) {
    if (!Number.isInteger(known?.[name])) throw new TypeError(`@name@ takes an object with the number ${name} first`);
    if (known[name] >= least && known[name] <= (most ?? known[name])) continue;
    const range = most ? `${least} to ${most}` : `${least} or more`;
    throw new RangeError(`@name@ takes ${range} ${isCounted ? "rows" : `as ${name}`}, not ${known[name]}`);
  }
  inputs.forEach((one, i) => {
    const { name, shape } = one, given = arrays[i], expected = length(one, known);
    const where = one.row ? ` for ${known[sizes[0].name]} rows` : one.length.call ? ` for ${JSON.stringify(known)}` : "";
    if (given.length !== expected)
      throw new RangeError(`${name} has ${given.length} elements, not the ${expected} of shape [${shape}]${where}`);
  });
  return known;
}
