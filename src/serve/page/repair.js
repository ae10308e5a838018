// Repair: a picture of one's own without its noise, with its missing parts, or larger.
import * as api from "./api.js";
import {base64, copyable, dropZone, field, make, notice, progress, say, select, slider} from "./dom.js";

const TASKS = {
  denoise: {text: "Remove noise", model: "", button: "Denoise"},
  inpaint: {text: "Fill in what is missing", model: "fashion-mnist", button: "Fill in"},
  restore: {text: "Enlarge", model: "fashion-mnist", button: "Enlarge"},
};

// A canvas over the picture: painted is missing.
function maskPainter() {
  const below = make("canvas", {width: 1, height: 1, id: "mask"}), brush = slider("brush, in pixels", {low: 1, high: 40, step: 1, value: 4});
  const boxes = ["x", "y", "width", "height"].map(name => make("input", {type: "number", min: "0", "aria-label": `box ${name}`, placeholder: name}));
  let picture = null, mask = null;
  const show = () => {
    const to = below.getContext("2d");
    to.drawImage(picture, 0, 0);
    to.globalAlpha = 0.75;
    to.drawImage(mask, 0, 0);
    to.globalAlpha = 1;
  };
  const dab = (x, y, width, height) => {
    const to = mask.getContext("2d");
    to.fillStyle = "#e0245e";
    to.fillRect(Math.round(x), Math.round(y), Math.round(width), Math.round(height));
    show();
  };
  let last = null;  // where the pointer was: strokes have no gaps
  const stroke = event => {
    const box = below.getBoundingClientRect(), size = Number(brush.number.value) || 1;
    const x = (event.clientX - box.left) / box.width * below.width - size / 2, y = (event.clientY - box.top) / box.height * below.height - size / 2;
    const [fromX, fromY] = last ?? [x, y], dabs = Math.ceil(Math.max(Math.abs(x - fromX), Math.abs(y - fromY)) / (size / 2)) || 1;
    for (let i = 1; i <= dabs; ++i) dab(fromX + (x - fromX) * i / dabs, fromY + (y - fromY) * i / dabs, size, size);
    last = [x, y];
  };
  below.addEventListener("pointerdown", event => { below.setPointerCapture(event.pointerId); last = null; stroke(event); });
  below.addEventListener("pointermove", event => { if (event.buttons) stroke(event); });
  const clear = () => {
    mask = Object.assign(document.createElement("canvas"), {width: picture.width, height: picture.height});
    show();
  };
  return {
    node: make("div", {}, make("p", {}, "Paint over what is missing, or give a box:"), make("div", {class: "paint"}, below), brush.node,
      make("div", {class: "row"}, ...boxes, make("button", {type: "button", class: "quiet", onclick: () => dab(...boxes.map(one => Number(one.value)))}, "Add box"),
        make("button", {type: "button", class: "quiet", onclick: clear}, "Clear"))),
    load(bitmap) {
      picture = bitmap;
      below.width = bitmap.width;
      below.height = bitmap.height;
      below.style.width = `${Math.min(520, Math.max(bitmap.width, Math.floor(360 / bitmap.width) * bitmap.width))}px`;
      brush.number.value = brush.range.value = Math.max(2, Math.round(bitmap.width / 10));
      clear();
    },
    async file() {
      const full = Object.assign(document.createElement("canvas"), {width: mask.width, height: mask.height});
      const painted = mask.getContext("2d").getImageData(0, 0, mask.width, mask.height), values = painted.data;
      if (!values.some((value, i) => i % 4 === 3 && value > 0)) throw new Error("Nothing is painted yet.");
      for (let i = 0; i < values.length; i += 4) values.fill(values[i + 3] > 0 ? 255 : 0, i, i + 3), values[i + 3] = 255;
      full.getContext("2d").putImageData(painted, 0, 0);
      return base64(await new Promise(resolve => full.toBlob(resolve, "image/png")));
    },
  };
}

// Before on the left, after on the right of a line that can be moved.
function compare(before, after, width) {
  const range = make("input", {type: "range", min: "0", max: "100", value: "50", "aria-label": "Where before ends and after begins"});
  const top = make("img", {src: after, alt: "after", class: "smooth"}), bottom = make("img", {src: before, alt: "before", class: "smooth"});
  bottom.style.width = `${width}px`;
  const cut = () => { top.style.clipPath = `inset(0 0 0 ${range.value}%)`; };
  range.addEventListener("input", cut);
  cut();
  return make("figure", {id: "compare"}, make("div", {class: "compare"}, bottom, top), range, make("figcaption", {}, "Before on the left, after on the right."));
}

export async function repair(page) {
  const known = await api.get("/api/models"), models = known.map(one => one.name);
  const task = select(Object.entries(TASKS).map(([name, one]) => [name, one.text]), "denoise"), model = select([["", "photos, or photos-grey"], ...models], "");
  const steps = slider("steps", {low: 1, high: 20, step: 1, value: 1}), strength = slider("strength", {low: 0, high: 2, step: 0.05, value: 1});
  const versions = slider("completions", {low: 1, high: 8, step: 1, value: 4}), factor = slider("factor", {low: 2, high: 4, step: 1, value: 2});
  const painter = maskPainter(), own = make("div"), shown = make("div"), result = make("div");
  const bar = progress(() => running && api.cancel(running).catch(say)), button = make("button", {type: "submit", disabled: true}, "Denoise");
  let file = null, running = null, watched = null, width = 300;

  const zone = dropZone("Drop a picture here, paste it, or choose a file", 1, async ([picture]) => {
    try {
      const bitmap = await createImageBitmap(picture);
      file = picture;
      width = Math.min(640, Math.max(bitmap.width, Math.floor(360 / bitmap.width) * bitmap.width));
      painter.load(bitmap);
      show();
    } catch { notice("The browser cannot read this picture."); }
  });

  function show() {
    const chosen = task.value;
    own.replaceChildren(...{denoise: [steps.node, strength.node], inpaint: [versions.node], restore: [factor.node]}[chosen]);
    button.textContent = TASKS[chosen].button;
    button.disabled = !file;
    if (!file) return;
    const given = make("img", {src: URL.createObjectURL(file), alt: "the picture given", class: "smooth"});
    given.style.width = `${width}px`;
    shown.replaceChildren(chosen === "inpaint" ? painter.node : make("figure", {}, given, make("figcaption", {}, file.name || "pasted picture")));
  }
  task.addEventListener("change", () => { model.value = TASKS[task.value].model; show(); });

  async function begin(event) {
    event.preventDefault();
    try {
      const more = {pictures: [await base64(file)]}, options = {};
      const channels = known.find(one => one.name === model.value)?.spec?.channels;
      if (model.value) options.model = model.value;
      if (channels) options.colour = channels === 1 ? "grey" : "rgb";
      if (task.value === "denoise") Object.assign(options, {steps: steps.number.value, strength: strength.number.value});
      if (task.value === "inpaint") { options.n = versions.number.value; more.mask = await painter.file(); }
      if (task.value === "restore") Object.assign(options, {task: "superres", factor: factor.number.value});
      const kind = task.value, job = await api.start(kind, options, more);
      running = job.id;
      button.disabled = true;
      result.replaceChildren();
      watched = api.watch(job.id, seen => { if (seen.job) bar.show(seen.job); });
      const over = await watched.over;
      if (over.state === "done") showResult(kind, over);
    } catch (error) { say(error); }
    button.disabled = false;
    running = null;
  }

  function showResult(kind, job) {
    const made = job.files.filter(name => name.startsWith("picture-1") && name.endsWith(".png")).map(name => api.file(job.id, `out/${name}`));
    const said = [copyable("The same in a shell", job.shell), copyable("The same in Python", `import mdsm\n${job.python}`)];
    if (kind === "denoise") {
      const level = job.result.pictures[0].noise_level;
      shown.replaceChildren();
      result.replaceChildren(make("p", {id: "noise"}, `Estimated noise: standard deviation ${level.toFixed(4)} of the range 0 to 1 (${(level * 255).toFixed(1)} of 255).`),
        compare(api.file(job.id, "picture-1.png"), made[0], width), make("p", {}, make("a", {href: made[0], download: "denoised.png"}, "Download")), ...said);
      return;
    }
    const scale = kind === "restore" ? Number(job.options.factor) : 1;
    result.replaceChildren(make("div", {class: "pictures", id: "completions"}, ...made.map((address, i) => {
      const picture = make("img", {src: address, alt: `result ${i + 1}`});
      picture.style.width = `${Math.min(640, Math.max(112, width * scale / (made.length > 1 ? 2 : 1)))}px`;
      return make("figure", {}, picture, make("figcaption", {}, make("a", {href: address, download: `result-${i + 1}.png`}, `Result ${i + 1}`)));
    })), ...said);
  }

  const paste = event => zone.paste(event);
  document.addEventListener("paste", paste);
  page.append(make("div", {class: "columns"},
    make("section", {class: "panel", "aria-label": "What to repair"}, make("h2", {}, "Repair"),
      make("form", {onsubmit: begin}, zone, field("task", task), field("model", model), own, button)),
    make("section", {class: "panel", "aria-label": "Picture"}, make("h2", {}, "Picture"), shown, bar.node, result)));
  show();
  return () => { document.removeEventListener("paste", paste); watched?.close(); };
}
