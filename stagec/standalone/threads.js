// Compiles the module, and returns the function. Workers share its work with the thread that calls it, `threads` in
// all, until its method `terminate` is called; the calling thread does all of the work from then on.
export async function load(source, weights, threads) {
  if (!isNode && !globalThis.crossOriginIsolated)
    throw new Error(
      "@name@.wasm is for threads, which a page has if its server sends the headers " +
        "Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp",
    );
  threads = Math.max(1, threads ?? (isNode ? (await import("node:os")).availableParallelism() : navigator.hardwareConcurrency));
  const workers = [], terminate = () => workers.splice(0).forEach((worker) => worker.terminate());
  const instantiated = async (source, bytes) => {
    const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
    const initial = @pages@ + Math.ceil((64 + bytes + (threads - 1) * @stack@) / 65536);
    const memory = new WebAssembly.Memory({ initial, maximum: initial, shared: true });
    const instance = await WebAssembly.instantiate(module, { env: { memory } });
    const stacks = Array.from({ length: threads - 1 }, (_, i) => initial * 65536 - i * @stack@);
    await Promise.all(stacks.map((stack) => started({ module, memory, stack }, workers)));
    return instance;
  };
  try {
    return Object.assign(await prepared(instantiated, source, weights), { terminate });
  } catch (error) {
    terminate();
    throw error;
  }
}

const isNode = Boolean(globalThis.process?.versions?.node);

// A worker that waits for work. Its code is here, so that no other file need be found.
async function started(given, workers) {
  const code = `(({ module, memory, stack }, ready) => {
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    exports.__stack_pointer.value = stack;
    ready();
    exports["pool.serve"]();
  })`;
  if (isNode) {
    const { Worker } = await import("node:worker_threads");
    const head = 'const { parentPort, workerData } = require("node:worker_threads");';
    const worker = new Worker(`${head} ${code}(workerData, () => parentPort.postMessage(0))`, { eval: true, workerData: given });
    workers.push(worker);
    await new Promise((ready, failed) => worker.once("message", ready).once("error", failed));
    worker.unref();
  } else {
    const url = URL.createObjectURL(new Blob([`onmessage = ({ data }) => ${code}(data, () => postMessage(0))`]));
    const worker = new Worker(url);
    workers.push(worker);
    const isReady = new Promise((ready, failed) => Object.assign(worker, { onmessage: ready, onerror: failed }));
    worker.postMessage(given);
    await isReady;
    URL.revokeObjectURL(url);
  }
}

