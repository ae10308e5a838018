// The sections of the page by the address's #name, the theme, and how many jobs are at work.
import * as api from "./api.js";
import {draw} from "./draw.js";
import {jobs} from "./jobs.js";
import {judge} from "./judge.js";
import {make} from "./dom.js";
import {repair} from "./repair.js";
import {runs} from "./runs.js";

const SECTIONS = {runs, draw, repair, judge, jobs};
const main = document.getElementById("main");
let leave = null, turn = 0;

async function open() {
  const name = location.hash.slice(1) in SECTIONS ? location.hash.slice(1) : "draw", mine = ++turn;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  (await leave)?.();
  document.title = `mdsm: ${name}`;
  const page = make("div");
  main.replaceChildren(page);
  leave = SECTIONS[name](page).catch(error => {
    if (mine === turn) page.replaceChildren(make("p", {class: "error"}, `The server does not answer: ${error.message}`));
  });
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").textContent = dark ? "Light" : "Dark";
}
const wanted = localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
theme(wanted === "dark");
document.getElementById("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme !== "dark";
  localStorage.setItem("theme", dark ? "dark" : "light");
  theme(dark);
});

async function count() {
  const busy = document.getElementById("busy"), all = await api.get("/api/jobs").catch(() => []);
  const waiting = all.filter(job => ["queued", "running"].includes(job.state)).length;
  busy.hidden = waiting === 0;
  busy.textContent = String(waiting);
}
addEventListener("hashchange", open);
setInterval(() => { if (!document.hidden) count(); }, 3000);
open();
count();
