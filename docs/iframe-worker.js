// The worker of the search for pages that were opened from a folder, where browsers start none: a frame of this page.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = Object.assign(document.createElement("iframe"), { hidden: true });
      this.loaded = new Promise((loaded) => {
        const start = () => {
          const inside = frame.contentWindow;
          // What the worker says is an event of this object, and what is said to it is one of the frame's.
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = inside.document.createElement("script");
          Object.assign(script, { src: url, onload: () => loaded(inside) });
          inside.document.body.append(script);
        };
        // Browsers differ in whether an empty frame is loaded at once or later, and has another document then.
        frame.addEventListener("load", start, { once: true });
        document.body.append(frame);
      });
    }
    postMessage(data) {
      this.loaded.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
