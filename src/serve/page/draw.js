// Draw: new images from a model, shown as they form.
import * as api from "./api.js";
import {copyable, field, make, progress, say, select, slider} from "./dom.js";
import {optionInputs} from "./options.js";

export async function draw(page) {
  const [kinds, models] = await Promise.all([api.get("/api/kinds"), api.get("/api/models")]);
  const kind = kinds.find(one => one.name === "sample"), samplerOption = kind.options.find(one => one.name === "sampler");
  const model = select(models.map(one => one.name), "fashion-mnist"), sampler = select(samplerOption.choices, "multistep");
  const n = slider("images", {low: 1, high: 64, step: 1, value: 16}), seed = make("input", {type: "number", min: "0", value: "0"});
  const advanced = make("div"), result = make("div"), live = make("div", {class: "pictures", "aria-live": "off"});
  const bar = progress(() => running && api.cancel(running).catch(say));
  const button = make("button", {type: "submit"}, "Draw");
  let inputs = null, running = null, watched = null;

  async function refresh() {
    const defaults = await api.get(`/api/samplers/${sampler.value}/${model.value}`).catch(error => { say(error); return {}; });
    inputs = optionInputs(kind.options, {owner: sampler.value, defaults, skip: ["sampler"]});
    advanced.replaceChildren(inputs.node);
  }
  model.addEventListener("change", refresh);
  sampler.addEventListener("change", refresh);

  async function begin(event) {
    event.preventDefault();
    try {
      const first = Number(seed.value), options = {model: model.value, sampler: sampler.value, ...inputs.values(),
        seeds: `${first}-${first + Number(n.number.value) - 1}`, scale: 4};
      const job = await api.start("sample", options);
      live.replaceChildren();
      result.replaceChildren(copyable("The same in a shell", job.shell), copyable("The same in Python", `import mdsm\n${job.python}`));
      follow(job.id);
    } catch (error) { say(error); }
  }

  async function follow(id) {
    watched?.close();
    running = id;
    button.disabled = true;
    watched = api.watch(id, seen => {
      if (seen.job) bar.show(seen.job);
      if (seen.live) showLive(seen.live);
    });
    try {
      const job = await watched.over;
      if (job.state === "done") showResult(job);
    } catch (error) { say(error); }
    button.disabled = false;
    running = null;
  }

  function showLive({noisy, denoised}) {
    const [above, below] = live.querySelectorAll("img");
    if (above) { above.src = `data:image/png;base64,${noisy}`; below.src = `data:image/png;base64,${denoised}`; return; }
    const shown = (data, text) => make("figure", {}, make("img", {src: `data:image/png;base64,${data}`, alt: text}), make("figcaption", {}, text));
    live.classList.add("pair");
    live.replaceChildren(shown(noisy, "Where the sampler is"), shown(denoised, "What the model takes it for"));
  }

  function showResult(job) {
    const found = job.result;
    live.classList.remove("pair");
    live.replaceChildren(make("figure", {}, make("img", {id: "drawn", src: api.file(job.id, "out/grid.png"), alt: `${found.n} images, seeds ${found.seeds}`}),
      make("figcaption", {}, `Seeds ${found.seeds}, ${found.gradient_evaluations_per_sample.toFixed(1)} gradient evaluations an image, mean energy ${found.energy.toPrecision(6)}, ${found.seconds.toFixed(1)} s`)));
  }

  await refresh();  // nothing can be asked for before its options are there
  page.append(make("div", {class: "columns"},
    make("section", {class: "panel", "aria-label": "What to draw"}, make("h2", {}, "Draw"),
      make("form", {onsubmit: begin}, field("model", model), field("sampler", sampler), n.node, field("first seed", seed),
        make("details", {}, make("summary", {}, "Options of the sampler"), advanced), button)),
    make("section", {class: "panel", "aria-label": "Images"}, make("h2", {}, "Images"), bar.node, live, result)));
  return () => watched?.close();
}
