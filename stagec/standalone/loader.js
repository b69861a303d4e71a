// @label@, compiled by @by@ to WebAssembly.

export const inputs = [
@arguments@];

export const outputs = [
@results@];

const workspace = @workspace@;
const held = @weights@;
const rows = @rows@;

// Compiles the module, and returns the function: of typed arrays, which it copies, to a new one, or to an object with
// several. An open number of rows is computed in blocks.
export async function load(source = beside("@name@.wasm"), weights = held && beside(held.file)) {
  const [module, bytes] = await Promise.all([content(source), held && content(weights)]);
  const made = await WebAssembly.instantiate(module);
  const { memory, __heap_base: heap, ...runs } = (made.instance ?? made).exports;
  const blocks = rows ? rows.blocks.map((count) => [count, runs[`@name@_${count}`]]) : [[1, runs.@name@]];
  let end = heap.value;
  const place = (bytes) => {
    const start = Math.ceil(end / 64) * 64;
    end = start + bytes;
    return start;
  };
  const places = [...inputs, ...outputs].map((one) => place(length(one, blocks[0][0]) * one.array.BYTES_PER_ELEMENT));
  if (held) places.push(place(held.bytes));
  places.push(place(workspace));
  const missing = end - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
  if (held) new Uint8Array(memory.buffer).set(checked(bytes), places[places.length - 2]);
  const view = (one, i, count) => new one.array(memory.buffer, places[i], length(one, count));
  return (...arrays) => {
    const count = checkedRows(arrays);
    inputs.forEach((one, i) => one.row || view(one, i).set(arrays[i]));
    const made = outputs.map((one) => new one.array(length(one, count)));
    let at = 0;
    for (const [size, run] of blocks)
      for (; count - at >= size; at += size) {
        const part = ({ row }) => [at * row, (at + size) * row];
        inputs.forEach((one, i) => one.row && view(one, i, size).set(arrays[i].subarray(...part(one))));
        run(...places);
        outputs.forEach((one, i) => made[i].set(view(one, inputs.length + i, size), one.row ? part(one)[0] : 0));
      }
    return made.length === 1 ? made[0] : Object.fromEntries(made.map((array, i) => [outputs[i].name, array]));
  };
}

const length = (one, count) => (one.row ? one.row * count : one.length);

const beside = (file) => new URL(`./${file}`, import.meta.url);

// The bytes of a file, or what is given instead of them.
async function content(source) {
  if (typeof source === "string") source = new URL(source, globalThis.location ?? import.meta.url);
  if (source instanceof URL && source.protocol === "file:" && globalThis.process)
    source = await (await import("node:fs/promises")).readFile(source);
  else if (source instanceof URL) source = await fetch(source);
  if (globalThis.Response && source instanceof Response) {
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

// The number of rows of arguments that fit; 1 if it is not open.
function checkedRows(arrays) {
  if (arrays.length !== inputs.length) throw new TypeError(`@name@ takes ${inputs.length} arrays, not ${arrays.length}`);
  const first = inputs.findIndex((one) => one.row);
  const count = first < 0 ? 1 : Math.floor(arrays[first]?.length / inputs[first].row);
  inputs.forEach((one, i) => {
    const { name, array, shape } = one, given = arrays[i];
    if (!(given instanceof array)) throw new TypeError(`${name} is a ${array.name}, not ${given?.constructor?.name}`);
    const expected = length(one, count), where = one.row ? ` for ${count} rows` : "";
    if (given.length !== expected)
      throw new RangeError(`${name} has ${given.length} elements, not the ${expected} of shape [${shape}]${where}`);
  });
  if (rows && (count < rows.least || count > (rows.most ?? count)))
    throw new RangeError(`@name@ takes ${rows.least} ${rows.most ? `to ${rows.most}` : "or more"} rows, not ${count}`);
  return count;
}
