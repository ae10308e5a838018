// Calls of the REST interface. Everything that changes something carries the CSRF token of the session.

let csrf = null;

export async function get(path) {
  return answer(await fetch(path));
}

async function answer(response) {
  const values = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(values.error || `the server answers with ${response.status}`);
  return values;
}

async function change(method, path, body) {
  for (let attempt = 0; ; ++attempt) {
    if (csrf === null) csrf = (await get("/api/session")).csrf;
    const response = await fetch(path, {
      method, headers: {"Content-Type": "application/json", "X-CSRF-Token": csrf}, body: JSON.stringify(body ?? {})});
    if (response.status !== 403 || attempt) return answer(response);
    csrf = null;  // another server, after a restart
  }
}

export const post = (path, body) => change("POST", path, body);
export const remove = path => change("DELETE", path);
export const start = (kind, options, more = {}) => post("/api/jobs", {kind, options, ...more});
export const cancel = id => post(`/api/jobs/${id}/cancel`);
export const file = (id, path) => `/api/jobs/${id}/files/${path}`;

// What becomes of a job until it is over: seen({job}) and seen({live}). The browser comes back by itself where the
// server went away. Returns a promise of the job that is over, and how to stop looking.
export function watch(id, seen = () => {}) {
  const source = new EventSource(`/api/jobs/${id}/events`);
  const over = new Promise((resolve, reject) => {
    source.addEventListener("job", event => {
      const job = JSON.parse(event.data);
      seen({job});
      if (["done", "failed", "cancelled"].includes(job.state)) {
        source.close();
        resolve(job);
      }
    });
    source.addEventListener("live", event => seen({live: JSON.parse(event.data)}));
    source.addEventListener("gone", () => {
      source.close();
      reject(new Error("the job has been removed"));
    });
  });
  return {over, close: () => source.close()};
}

export function watchRun(run, seen) {
  const source = new EventSource(`/api/runs/${run}/events`);
  source.addEventListener("run", event => seen(JSON.parse(event.data)));
  return () => source.close();
}
