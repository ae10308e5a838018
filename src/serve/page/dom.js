// Small helpers to build the page. Text is always text, never markup.

// make("p", {class: "x", onclick: f}, "text", node, ...)
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export const field = (text, input) => make("label", {}, make("span", {}, text), input);

export function select(choices, chosen, more = {}) {
  const node = make("select", more, ...choices.map(one => {
    const [value, text] = Array.isArray(one) ? one : [one, one];
    return make("option", {value}, text);
  }));
  if (chosen !== undefined && choices.length) node.value = chosen;
  return node;
}

// A slider with a number beside it; `value` of the number counts.
export function slider(text, {low, high, step, value}) {
  const range = make("input", {type: "range", min: String(low), max: String(high), step: String(step), value: String(value), "aria-label": `${text}, slider`});
  const number = make("input", {type: "number", step: "any", value: String(value)});
  range.addEventListener("input", () => { number.value = range.value; });
  number.addEventListener("input", () => { range.value = number.value; });
  const node = make("div", {class: "field"}, make("label", {}, make("span", {}, text), make("div", {class: "slider"}, range, number)));
  number.setAttribute("aria-label", text);
  return {node, number, range};
}

let timer = 0;
export function notice(text) {
  const node = document.getElementById("notice");
  node.textContent = text;
  clearTimeout(timer);
  timer = setTimeout(() => { node.textContent = ""; }, 6000);
}

export const say = error => notice(error.message || String(error));

// Text to copy, under a heading.
export function copyable(title, text) {
  const button = make("button", {type: "button", class: "quiet", onclick: async () => {
    await navigator.clipboard.writeText(text).then(() => notice("Copied."), () => notice("The browser does not allow it; mark the text."));
  }}, `Copy`);
  button.setAttribute("aria-label", `Copy: ${title}`);
  return make("div", {}, make("div", {class: "row"}, make("strong", {}, title), button), make("pre", {tabindex: "0"}, text));
}

// Bar and text for a running job. show(job) tells what it says of itself: "sampling: 3 of 16 images, ...".
export function progress(onCancel, word = "Cancel") {
  const bar = make("progress", {max: 1, "aria-label": "Progress"});
  const text = make("div", {class: "progress", role: "status"});
  const button = make("button", {type: "button", class: "quiet", onclick: onCancel}, word);
  const node = make("div", {hidden: true}, bar, make("div", {class: "row"}, text, button));
  return {node, show(job) {
    node.hidden = false;
    const counted = /: (\d+) of (\d+)/.exec(job.progress || "");
    if (counted) { bar.max = Number(counted[2]) || 1; bar.value = Number(counted[1]); } else bar.removeAttribute("value");
    const over = ["done", "failed", "cancelled"].includes(job.state);
    bar.hidden = button.hidden = over;
    text.className = job.state === "failed" ? "progress error" : "progress";
    text.textContent = over ? `Job ${job.id}: ${job.state}${job.error ? `. ${job.error}` : ""}` :
      job.progress || (job.state === "queued" ? `Job ${job.id} waits for its turn` : `Job ${job.id} starts`);
  }};
}

export const base64 = async blob => {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
};

// A place for pictures: chosen, dropped or pasted. took(files) gets them.
export function dropZone(text, most, took) {
  const input = make("input", {type: "file", accept: "image/*", multiple: most > 1});
  input.setAttribute("aria-label", text);
  const take = files => {
    const pictures = [...files].filter(one => one.type.startsWith("image/")).slice(0, most);
    if (pictures.length) took(pictures); else notice("That is no picture.");
  };
  input.addEventListener("change", () => take(input.files));
  const node = make("div", {class: "drop"}, make("p", {}, text), input);
  node.addEventListener("dragover", event => { event.preventDefault(); node.classList.add("over"); });
  node.addEventListener("dragleave", () => node.classList.remove("over"));
  node.addEventListener("drop", event => { event.preventDefault(); node.classList.remove("over"); take(event.dataTransfer.files); });
  node.paste = event => { if (event.clipboardData.files.length) take(event.clipboardData.files); };
  return node;
}
