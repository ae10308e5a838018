// Jobs: all of them, the newest first.
import * as api from "./api.js";
import {make, say} from "./dom.js";

export async function jobs(page) {
  const body = make("tbody"), none = make("p", {}, "No jobs yet.");
  const act = (text, what) => make("button", {type: "button", class: "quiet", onclick: () => what().then(refresh, say)}, text);
  async function refresh() {
    const all = await api.get("/api/jobs");
    none.hidden = all.length > 0;
    body.replaceChildren(...all.slice(0, 200).map(job => make("tr", {}, make("td", {}, job.id), make("td", {}, job.command), make("td", {class: job.state === "failed" ? "error" : ""}, job.state),
      make("td", {}, job.error || job.progress || (job.ended ? `${(job.ended - job.started).toFixed(1)} s` : "")), make("td", {}, make("code", {}, job.shell)),
      make("td", {}, ["queued", "running"].includes(job.state) ? act("Cancel", () => api.cancel(job.id)) : act("Remove", () => api.remove(`/api/jobs/${job.id}`))))));
  }
  page.append(make("section", {class: "panel"}, make("h2", {}, "Jobs"), none, make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {},
    ...["job", "command", "state", "", "in a shell", ""].map((text, i) => make(text ? "th" : "td", text ? {scope: "col"} : {}, text)))), body))));
  await refresh();
  const timer = setInterval(() => refresh().catch(() => {}), 1000);
  return () => clearInterval(timer);
}
