// Runs: what is and was trained, live; two checkpoints beside each other; start, stop and resume.
import * as api from "./api.js";
import {lines} from "./charts.js";
import {field, make, notice, progress, say, select, slider} from "./dom.js";

const address = (run, file) => `/api/runs/${run}/files/${file}`;

// Loss, and its parts by noise level: the quarters from little to much noise.
function curves(curve) {
  const parts = curve.find(one => Array.isArray(one.loss_quarters))?.loss_quarters.length ?? 0;
  const series = [{name: "loss", points: curve.map(one => [one.step, one.loss])}];
  const words = ["little noise", "some noise", "more noise", "much noise"];
  for (let i = 0; i < parts; ++i) series.push({name: words[i] ?? `part ${i + 1}`, points: curve.map(one => [one.step, one.loss_quarters?.[i]])});
  return lines(series, "step", "loss");
}

function optionTable(runs) {
  const keys = [...new Set(runs.flatMap(run => Object.keys(run.options)))].sort();
  const text = value => value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "option"), ...runs.map(run => make("th", {scope: "col"}, run.name)))),
    make("tbody", {}, ...keys.map(key => make("tr", {class: new Set(runs.map(run => text(run.options[key]))).size > 1 ? "differs" : ""},
      make("th", {scope: "row"}, key), ...runs.map(run => make("td", {}, text(run.options[key]))))))));
}

function comparePanel(models) {
  const sides = [0, 1].map(i => ({model: select(models, models.at(-1 - i) ?? models[0]), picture: make("div")}));
  const n = slider("images", {low: 1, high: 36, step: 1, value: 9}), seed = make("input", {type: "number", min: "0", value: "0"});
  const button = make("button", {type: "submit"}, "Draw both");
  const form = make("form", {onsubmit: async event => {
    event.preventDefault();
    button.disabled = true;
    const first = Number(seed.value), seeds = `${first}-${first + Number(n.number.value) - 1}`;
    await Promise.all(sides.map(async side => {
      try {
        const job = await api.start("sample", {model: side.model.value, seeds, scale: 4});
        side.picture.replaceChildren(make("p", {class: "progress"}, `Job ${job.id}`));
        const over = await api.watch(job.id, seen => {
          if (seen.live) side.picture.replaceChildren(make("img", {src: `data:image/png;base64,${seen.live.denoised}`, alt: "images as they form"}));
        }).over;
        side.picture.replaceChildren(over.state === "done" ? make("img", {src: api.file(job.id, "out/grid.png"), alt: `seeds ${seeds} of ${side.model.value}`}) : make("p", {class: "error"}, over.error || over.state));
      } catch (error) { say(error); }
    }));
    button.disabled = false;
  }}, make("div", {class: "row"}, ...sides.map((side, i) => field(i ? "right" : "left", side.model))), make("div", {class: "row"}, n.node, field("first seed", seed)), button);
  return make("section", {class: "panel"}, make("h2", {}, "Two checkpoints, the same seeds"), form, make("div", {class: "pictures", id: "sides"}, ...sides.map(side => side.picture)));
}

function trainPanel(data, follow) {
  const source = select(data, "fashion-mnist"), net = select(["res6", "res12", "res18", "unet"], "res12");
  const width = slider("width", {low: 4, high: 128, step: 4, value: 16}), steps = slider("steps", {low: 50, high: 20000, step: 50, value: 2400});
  const batch = slider("batch", {low: 8, high: 256, step: 8, value: 64}), rate = make("input", {type: "number", step: "any", value: "0.001"});
  return make("section", {class: "panel"}, make("h2", {}, "Train"), make("form", {onsubmit: async event => {
    event.preventDefault();
    try {
      const every = Math.max(1, Math.round(Number(steps.number.value) / 40));
      const job = await api.start("train", {data: source.value, net: net.value, width: width.number.value, steps: steps.number.value, batch: batch.number.value,
        lr: rate.value, "stats-every": every, "preview-every": every * 5, "save-every": every * 5, "snapshot-every": every * 20});
      follow(job.id);
    } catch (error) { say(error); }
  }}, field("data", source), field("network", net), width.node, steps.node, batch.node, field("learning rate", rate), make("button", {type: "submit"}, "Start")));
}

export async function runs(page) {
  const [data, models] = await Promise.all([api.get("/api/data"), api.get("/api/models")]);
  const list = make("div"), detail = make("div"), status = progress(() => training && api.cancel(training).then(() => notice("The run saves and stops."), say), "Stop");
  let training = null, closeRun = null, watched = null, known = [], listed = 0;

  async function refresh() {
    listed = Date.now();
    const all = await api.get("/api/runs");
    known = all.filter(run => !run.error);
    const rows = all.map(run => run.error ? make("tr", {}, make("td", {}, run.name), make("td", {colspan: "3", class: "error"}, run.error)) : make("tr", {}, make("td", {}, make("button", {type: "button", class: "quiet", onclick: () => show(run.name)}, run.name)),
      make("td", {}, `${run.step} of ${run.steps}`), make("td", {}, run.loss === null ? "" : run.loss.toFixed(1)), make("td", {}, run.locked ? "training" : run.step < run.steps ? "stopped" : "finished")));
    list.replaceChildren(all.length ? make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, ...["run", "step", "loss", "state"].map(text => make("th", {scope: "col"}, text)))), make("tbody", {}, ...rows))) :
      make("p", {}, "No runs yet. Start one, or start the server with --root in a folder that has runs/."));
  }

  function show(name) {
    closeRun?.();
    const chart = make("div", {id: "curve"}), previews = make("div"), beside = select(["", ...known.map(run => run.name).filter(one => one !== name)].map(one => [one, one || "nothing"]), "");
    const table = make("div"), head = make("h2", {}, name), state = make("p", {class: "progress", id: "run-state"});
    const resume = make("button", {type: "button", class: "quiet", onclick: () => api.start("train", {resume: name}).then(job => follow(job.id), say)}, "Resume");
    let facts = null;
    const options = () => table.replaceChildren(optionTable([facts, ...known.filter(run => run.name === beside.value)]));
    beside.addEventListener("change", options);
    detail.replaceChildren(make("section", {class: "panel"}, head, state, resume, chart, previews, make("details", {}, make("summary", {}, "Options"), field("beside", beside), table)));
    closeRun = api.watchRun(name, seen => {
      facts = seen.facts;
      if (Date.now() - listed > 2000) refresh().catch(() => {});
      resume.hidden = facts.locked || facts.step >= facts.steps;
      state.textContent = `Step ${facts.step} of ${facts.steps}${facts.locked ? ", training" : facts.step < facts.steps ? ", stopped" : ", finished"}`;
      chart.replaceChildren(curves(seen.curve));
      const last = facts.previews.at(-1);
      previews.replaceChildren(...last ? [make("figure", {}, make("img", {src: address(name, last), alt: "noisy, denoised and clean test images"}), make("figcaption", {}, `${last}: noisy above, denoised in the middle, the truth below; noise rises to the right. ${facts.previews.length} previews so far.`))] : []);
      options();
    });
  }

  function follow(id) {
    watched?.close();
    training = id;
    let shown = null;
    watched = api.watch(id, ({job}) => {
      if (!job) return;
      status.show(job);
      if (job.run && shown !== job.run) { shown = job.run; refresh().then(() => show(job.run)); }
    });
    watched.over.then(() => { training = null; refresh(); }, say);
  }

  page.append(make("div", {class: "columns"},
    make("div", {}, trainPanel(data.map(one => one.name), follow)),
    make("div", {}, make("section", {class: "panel"}, make("h2", {}, "Runs"), status.node, list), detail, comparePanel(models.map(one => one.name)))));
  await refresh();
  const going = (await api.get("/api/jobs")).find(job => job.command === "train" && ["running", "queued"].includes(job.state));
  if (going) follow(going.id); else if (known.length) show(known.at(-1).name);
  return () => { closeRun?.(); watched?.close(); };
}
