// Browsers start no worker for a page that was opened from a file. A hidden frame does the same work there, so that the
// search of this site needs no server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = `<script>
        const page = parent;
        postMessage = data => page.dispatchEvent(new MessageEvent("frame-worker", {data}));
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
          const script = document.createElement("script");
          Object.assign(script, {src: url, onload: done, onerror: failed});
          document.body.appendChild(script);
        })), Promise.resolve());
      <\/script><script src="${address}"><\/script>`;
      window.addEventListener("frame-worker", event => {
        const message = new MessageEvent("message", {data: event.data});
        this.onmessage?.(message);
        this.dispatchEvent(message);
      });
      this.frame.onload = () => {
        this.ready = true;
        this.waiting.splice(0).forEach(data => this.postMessage(data));
      };
      document.documentElement.appendChild(this.frame);
    }
    postMessage(data) {
      if (!this.ready) { this.waiting.push(data); return; }
      const frame = this.frame.contentWindow;
      frame.dispatchEvent(new frame.MessageEvent("message", {data}));
    }
    terminate() { this.frame.remove(); }
  };
}
