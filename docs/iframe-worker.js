// The site's search runs in a worker, which browsers refuse to pages from disk. There, a hidden frame takes its place: the
// same script runs in the frame, and what each side posts is an event of the other side.
"use strict";

if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget { // the script looks for this name in the page
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...urls) => Promise.all(urls.map((each) => this.run(each)));
      this.ready = this.run(url);
    }

    run(url) {
      const script = this.inside.document.createElement("script");
      script.src = url;
      return new Promise((done, failed) => {
        script.onload = done;
        script.onerror = failed;
        this.inside.document.body.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}
