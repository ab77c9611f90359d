// Frame-exact seeking in a video, and a canvas above it.
//
// A seek goes to the middle of a frame, (i + 0.5) / fps: a seek to i / fps lands on the frame before in a quarter of the
// cases (measured in Chromium). While one seek is under way only the newest wish is kept, so that a held key never
// builds up a queue and always ends on the last frame asked for.

import { h, notice, show } from "./dom.js";

const PAINTED = 640;

export class Player {
  /** `info`: url, fps, width, height, n_frames, codec; `paint(context, frame)` draws above the shown frame. */
  constructor(info, paint) {
    this.info = info;
    this.paint = paint;
    this.wanted = null;
    this.busy = false;
    this.shown = null;
    this.video = h("video", { muted: true, playsinline: true, preload: "auto", "aria-hidden": "true", tabindex: "-1", disablepictureinpicture: true });
    this.canvas = h("canvas", { role: "img", "aria-label": "the action drawn over the frame" });
    this.message = h("div", { class: "stage-message" });
    this.element = h("div", { class: "stage", style: `aspect-ratio: ${info.width || 4} / ${info.height || 3}; max-width: calc(70vh * ${(info.width || 4) / (info.height || 3)})` }, this.video, this.canvas, this.message);
    this.video.muted = true;
    this.video.addEventListener("loadeddata", () => this.#next());
    this.video.addEventListener("seeked", () => this.#arrived());
    this.video.addEventListener("error", () => this.#fail());
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.#open();
  }

  #open() {
    if (this.info.state === "ok") {
      this.video.src = this.info.url;
      return;
    }
    this.element.classList.add("without-video");
    const texts = {
      none: ["No video of this episode", "It was not recorded, or the episode is still being played. The steps can be read all the same."],
      missing: ["The video's file is missing", "The database knows the video, but the artifact store does not hold it. The steps can be read all the same."],
    };
    show(this.message, notice(...(texts[this.info.state] ?? texts.none)));
  }

  async #fail() {
    this.element.classList.add("without-video");
    const unsupported = this.video.error?.code === MediaError.MEDIA_ERR_SRC_NOT_SUPPORTED || this.video.error?.code === MediaError.MEDIA_ERR_DECODE;
    const answer = await fetch(this.info.url, { method: "HEAD" }).catch(() => null);
    if (answer?.ok && unsupported) {
      show(this.message, notice("This browser cannot play the video", `It is ${this.info.codec || "encoded"} video; Chrome, Firefox, Edge and Safari with H.264 support show it. The steps can be read all the same.`, "bad"));
    } else {
      show(this.message, notice("The video could not be loaded", `The server answered ${answer ? answer.status : "nothing"}. The steps can be read all the same.`, "bad"));
    }
  }

  /** Show a frame; the newest call wins. */
  seek(frame) {
    this.wanted = Math.max(0, Math.min(frame, (this.info.n_frames || frame + 1) - 1));
    this.#next();
    this.draw();
  }

  #next() {
    if (this.busy || this.wanted === null || this.video.readyState < 1) return;
    if (this.wanted === this.shown) return;
    this.busy = true;
    this.pending = this.wanted;
    this.video.currentTime = (this.pending + 0.5) / this.info.fps;
  }

  #arrived() {
    this.busy = false;
    this.shown = this.pending;
    this.element.dataset.frame = this.shown;
    this.draw();
    if (this.wanted !== this.shown) this.#next();
    else this.element.dispatchEvent(new Event("settled"));
  }

  /** Repaint what lies above the frame. */
  draw() {
    const box = this.element.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    // The painter works on a frame 640 wide, the size of GUI coordinates; smaller pictures are painted over alike.
    const scale = width / PAINTED;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.paint(context, { width: PAINTED, height: height / scale });
  }
}
