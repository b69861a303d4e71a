// @label@, compiled by @by@ to WebAssembly.

export const inputs = [
@arguments@];

export const outputs = [
@results@];

const workspace = @workspace@;

// Compiles the module, and returns the function: of typed arrays, which it copies, to a new one, or to an object with
// several.
export async function load(source = new URL("./@name@.wasm", import.meta.url)) {
  const { memory, @name@: run, __heap_base: heap } = (await instance(source)).exports;
  let end = heap.value;
  const place = (bytes) => {
    const start = Math.ceil(end / 64) * 64;
    end = start + bytes;
    return start;
  };
  const places = [...inputs, ...outputs].map((one) => place(one.length * one.array.BYTES_PER_ELEMENT));
  places.push(place(workspace));
  const missing = end - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
  return (...arrays) => {
    check(arrays);
    inputs.forEach((one, i) => new one.array(memory.buffer, places[i], one.length).set(arrays[i]));
    run(...places);
    const made = outputs.map((one, i) => new one.array(memory.buffer, places[inputs.length + i], one.length).slice());
    return made.length === 1 ? made[0] : Object.fromEntries(made.map((array, i) => [outputs[i].name, array]));
  };
}

async function instance(source) {
  if (typeof source === "string") source = new URL(source, globalThis.location ?? import.meta.url);
  if (source instanceof URL && source.protocol === "file:" && globalThis.process)
    source = await (await import("node:fs/promises")).readFile(source);
  else if (source instanceof URL) source = await fetch(source);
  if (globalThis.Response && source instanceof Response) {
    if (!source.ok) throw new Error(`${source.url}: ${source.status} ${source.statusText}`);
    source = await source.arrayBuffer();
  }
  const found = await WebAssembly.instantiate(source);
  return found.instance ?? found;
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
