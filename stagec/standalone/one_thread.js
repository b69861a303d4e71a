// Compiles the module, and returns the function.
export const load = (source, weights) => prepared(instantiated, source, weights);

async function instantiated(source, bytes) {
  const made = await WebAssembly.instantiate(source);
  const instance = made.instance ?? made, { memory, __heap_base: heap } = instance.exports;
  const missing = heap.value + 64 + bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
  return instance;
}

