// @label@, compiled by @by@ to WebAssembly.

export const inputs = [
@arguments@];

export const outputs = [
@results@];

const workspace = @workspace@;
const held = @weights@;

// Compiles the module, and returns the function: of typed arrays, which it copies, to a new one, or to an object with
// several.
export async function load(source = beside("@name@.wasm"), weights = held && beside(held.file)) {
  const [module, bytes] = await Promise.all([content(source), held && content(weights)]);
  const made = await WebAssembly.instantiate(module);
  const { memory, @name@: run, __heap_base: heap } = (made.instance ?? made).exports;
  let end = heap.value;
  const place = (bytes) => {
    const start = Math.ceil(end / 64) * 64;
    end = start + bytes;
    return start;
  };
  const places = [...inputs, ...outputs].map((one) => place(one.length * one.array.BYTES_PER_ELEMENT));
  if (held) places.push(place(held.bytes));
  places.push(place(workspace));
  const missing = end - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
  if (held) new Uint8Array(memory.buffer).set(checked(bytes), places[places.length - 2]);
  return (...arrays) => {
    check(arrays);
    inputs.forEach((one, i) => new one.array(memory.buffer, places[i], one.length).set(arrays[i]));
    run(...places);
    const made = outputs.map((one, i) => new one.array(memory.buffer, places[inputs.length + i], one.length).slice());
    return made.length === 1 ? made[0] : Object.fromEntries(made.map((array, i) => [outputs[i].name, array]));
  };
}

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

function check(arrays) {
  if (arrays.length !== inputs.length) throw new TypeError(`@name@ takes ${inputs.length} arrays, not ${arrays.length}`);
  inputs.forEach(({ name, array, length, shape }, i) => {
    const given = arrays[i];
    if (!(given instanceof array)) throw new TypeError(`${name} is a ${array.name}, not ${given?.constructor?.name}`);
    if (given.length !== length)
      throw new RangeError(`${name} has ${given.length} elements, not the ${length} of shape [${shape}]`);
  });
}
