// Judge: does a picture belong? And what lies between two pictures?
import * as api from "./api.js";
import {histogram, lines, plane} from "./charts.js";
import {base64, dropZone, field, make, progress, say, select, slider} from "./dom.js";

const thumbnails = files => make("div", {class: "pictures small"}, ...files.map((one, i) =>
  make("figure", {}, make("img", {src: URL.createObjectURL(one), alt: one.name || `picture ${i + 1}`}), make("figcaption", {}, "ABC"[i] ? `${one.name || `picture ${i + 1}`}` : one.name))));

// A form that sends one kind of job, with its progress, and shows what comes of it.
function panel(title, inputs, text, request, show) {
  let running = null;
  const bar = progress(() => running && api.cancel(running).catch(say)), result = make("div");
  const button = make("button", {type: "submit"}, text);
  const form = make("form", {onsubmit: async event => {
    event.preventDefault();
    button.disabled = true;
    try {
      const {kind, options, more} = await request(), job = await api.start(kind, options, more);
      running = job.id;
      const over = await api.watch(job.id, seen => { if (seen.job) bar.show(seen.job); }).over;
      if (over.state === "done") result.replaceChildren(...await show(over));
    } catch (error) { say(error); }
    button.disabled = false;
    running = null;
  }}, ...inputs, button);
  return make("section", {class: "panel"}, make("h2", {}, title), form, bar.node, result);
}

const need = files => { if (!files.length) throw new Error("Choose pictures first."); return Promise.all(files.map(base64)); };

function scorePanel(detector) {
  let files = [];
  const chosen = make("div");
  const zone = dropZone("Pictures to judge: drop them here or choose files", 16, given => { files = given; chosen.replaceChildren(thumbnails(files)); });
  return panel("Does it belong?", [field("detector", detector), zone, chosen], "Score",
    async () => ({kind: "score", options: {detector: detector.value}, more: {pictures: await need(files)}}),
    async job => {
      const reference = await api.get(`/api/detectors/${job.options.detector}`), found = job.result.images;
      const marks = [{at: reference.threshold, name: "threshold", threshold: true},
        ...found.filter(one => one.score !== undefined).map((one, i) => ({at: one.score, name: files[i]?.name || `picture ${i + 1}`}))];
      const rows = found.map((one, i) => make("tr", {}, make("td", {}, files[i]?.name || `picture ${i + 1}`), make("td", {}, one.score?.toFixed(2) ?? ""),
        make("td", {}, one.p?.toFixed(4) ?? ""), make("td", {class: one.verdict === "good" ? "good" : "error"}, one.verdict)));
      return [histogram(reference.reference, marks, "score"),
        make("div", {class: "scroll"}, make("table", {id: "scores"}, make("thead", {}, make("tr", {}, ...["picture", "score", "p", "verdict"].map(text => make("th", {scope: "col"}, text)))), make("tbody", {}, ...rows))),
        make("h3", {}, "Where they are strange: yellow to red"),
        make("div", {class: "pictures small"}, ...job.files.filter(name => name.endsWith(".png")).map(name =>
          make("img", {src: api.file(job.id, `out/${name}`), alt: `heat map of ${name}`})))];
    });
}

function fitPanel(models, data, detector) {
  const name = make("input", {type: "text", value: "good", pattern: "[A-Za-z0-9_.\\-]+"}), model = select(models, "fashion-mnist");
  const source = select(data, "fashion-mnist"), subset = slider("images", {low: 100, high: 5000, step: 100, value: 1000});
  return panel("A new detector", [field("name", name), field("model", model), field("good images", source), subset.node], "Fit",
    async () => ({kind: "fit", options: {out: name.value, model: model.value, data: source.value, split: "test", subset: subset.number.value}}),
    async job => {
      if (![...detector.options].some(one => one.value === name.value)) detector.append(make("option", {value: name.value}, name.value));
      detector.value = name.value;
      return [make("p", {}, `Fitted to ${job.result.n_fit} images, threshold ${job.result.threshold.toFixed(2)}.`)];
    });
}

function landscapePanel(models) {
  let files = [];
  const chosen = make("div"), model = select(models, "fashion-mnist");
  const grid = slider("points a side of the plane", {low: 5, high: 61, step: 2, value: 21}), steps = slider("steps of the chains", {low: 10, high: 500, step: 10, value: 100});
  const zone = dropZone("Two pictures, or three: drop them here or choose files", 3, given => {
    files = given.length > 1 ? given : [...files, ...given].slice(-3);
    chosen.replaceChildren(thumbnails(files));
  });
  return panel("Between pictures", [field("model", model), zone, chosen, grid.node, steps.node], "Walk",
    async () => ({kind: "landscape", options: {model: model.value, grid: grid.number.value, steps: steps.number.value}, more: {pictures: await need(files)}}),
    async job => {
      const found = job.result, names = ["A", "B", "C"];
      return [make("h3", {}, "Energy along the line from the first picture (0) to the second (1)"),
        lines([{name: "energy", points: found.line.at.map((at, i) => [at, found.line.energy[i]])}], "place on the line", "energy"),
        make("h3", {}, "Energy on the plane through them"), plane(found, names)];
    });
}

export async function judge(page) {
  const [models, data, detectors] = await Promise.all([api.get("/api/models"), api.get("/api/data"), api.get("/api/detectors")]);
  const names = models.map(one => one.name), detector = select(detectors, detectors[0]);
  page.append(make("div", {class: "columns"},
    make("div", {}, fitPanel(names, data.map(one => one.name), detector)),
    make("div", {}, scorePanel(detector), landscapePanel(names))));
}
