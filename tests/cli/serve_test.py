"""mdsm serve over real HTTP: what the interface describes is true, jobs of every kind, the queue, cancelling, and a server
that is killed and comes back."""
import os
import signal
import socket
import sys
import time
import unittest

from serve_tools import Server, check_schema, png

FASHION = {"model": "fashion-mnist"}
SANITIZED = "sanitized" in sys.argv[2:]


class Interface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().__enter__()
        cls.description = cls.server.get("/api/openapi.json")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def described(self, path, status="200", method="get"):
        answers = self.description["paths"][path][method]["responses"]
        return answers[status]["content"]["application/json"]["schema"]

    def check(self, value, path, status="200", method="get"):
        check_schema(value, self.described(path, status, method), self.description)

    def test_the_page_is_in_the_program(self):
        for path, kind in [("/", "text/html"), ("/style.css", "text/css"), ("/main.js", "text/javascript"), ("/icon.svg", "image/svg")]:
            status, headers, content = self.server.ask("GET", path)
            self.assertEqual(status, 200, path)
            self.assertTrue(headers["Content-Type"].startswith(kind), headers)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn(b"http://", content.replace(b"http://www.w3.org/2000/svg", b""), "nothing comes from elsewhere")
            self.assertNotIn(b"https://", content)

    def test_lists_are_as_described(self):
        for path in ["/api/session", "/api/kinds", "/api/models", "/api/data", "/api/detectors", "/api/runs", "/api/jobs"]:
            self.check(self.server.get(path), path)
        self.assertIn("fashion-mnist", [one["name"] for one in self.server.get("/api/models")])
        kinds = [one["name"] for one in self.server.get("/api/kinds")]
        self.assertEqual(sorted(kinds), sorted(self.description["components"]["schemas"]["NewJob"]["properties"]["kind"]["enum"]))

    def test_defaults_of_a_sampler_are_the_models(self):
        found = self.server.get("/api/samplers/fast/fashion-mnist")
        self.assertEqual(found["sampler"], "fast")
        self.assertIn("sigma-max", found)
        self.server.get("/api/samplers/none/fashion-mnist", 404)
        self.server.get("/api/samplers/fast/nothing", 404)

    def test_draw_with_images_as_they_form(self):
        job = self.server.job("sample", seeds="0-3", sampler="fast", **FASHION)
        self.check(job, "/api/jobs", "201", "post")
        names, last = [], None
        for name, values in self.server.events(f"/api/jobs/{job['id']}/events"):
            names.append(name)
            if name == "live":
                self.assertTrue(values["noisy"].startswith("iVBORw0KGgo"), "a PNG file as base64")
                self.assertTrue(values["denoised"].startswith("iVBORw0KGgo"))
            else:
                last = values
        self.assertIn("live", names)
        self.assertEqual(last["state"], "done", last)
        self.check(last, "/api/jobs/{id}")
        self.assertEqual(last["result"]["n"], 4)
        self.assertIn("grid.png", last["files"])
        status, headers, content = self.server.ask("GET", f"/api/jobs/{job['id']}/files/out/grid.png")
        self.assertEqual((status, headers["Content-Type"], content[:4]), (200, "image/png", b"\x89PNG"))
        self.assertTrue(last["shell"].startswith("mdsm sample "), last["shell"])
        self.assertTrue(last["python"].startswith('mdsm.run("sample", '), last["python"])
        self.assertNotIn("--json", last["shell"])

    def test_repair(self):
        found = self.server.done("denoise", pictures=[png(40, 24)], model="photos-grey")
        self.assertGreater(found["result"]["pictures"][0]["noise_level"], 0)
        self.assertIn("picture-1.png", found["files"])
        mask = png(28, 28, lambda x, y: 255 if 8 <= x < 16 and 8 <= y < 16 else 0)
        found = self.server.done("inpaint", pictures=[png(28, 28)], mask=mask, n=2, **FASHION)
        self.assertEqual([name for name in found["files"] if name.startswith("picture-1-")], ["picture-1-1.png", "picture-1-2.png"])
        found = self.server.done("restore", pictures=[png(14, 14)], task="superres", factor=2, **FASHION)
        self.assertIn("picture-1-1.png", found["files"])

    def test_judge(self):
        self.server.done("fit", out="good", data="fashion-mnist", split="test", subset=150, rate=0.05, **FASHION)
        self.assertEqual(self.server.get("/api/detectors"), ["good"])
        reference = self.server.get("/api/detectors/good")
        self.check(reference, "/api/detectors/{name}")
        self.assertGreater(len(reference["reference"]), 5)
        found = self.server.done("score", pictures=[png(28, 28)], detector="good")
        self.assertEqual(found["result"]["images"][0]["verdict"], "outlier")
        self.assertIn("picture-1.png", found["files"])
        pictures = [png(28, 28, lambda x, y: 0), png(28, 28, lambda x, y: 255 if 6 < x < 20 else 0)]
        found = self.server.done("landscape", pictures=pictures, points=5, grid=4, steps=3, **FASHION)["result"]
        self.assertEqual((len(found["line"]["energy"]), len(found["plane"]["energy"]), len(found["chains"])), (5, 4, 4))
        self.assertLess(max(abs(a - b) for a, b in zip(found["places"][1], (1, 0))), 1e-6)

    def test_jobs_wait_for_their_turn_and_can_be_cancelled(self):
        long = self.server.job("sample", seeds="0-63", sampler="langevin", steps=100000, **FASHION)
        self.server.wait(long, ["running"])
        waiting = self.server.job("sample", seeds="0", **FASHION)
        time.sleep(1)
        self.assertEqual(self.server.get(f"/api/jobs/{waiting['id']}")["state"], "queued")
        status, answer = self.server.change("DELETE", f"/api/jobs/{long['id']}")
        self.assertEqual(status, 409, answer)
        status, answer = self.server.change("POST", f"/api/jobs/{long['id']}/cancel")
        self.assertEqual((status, answer), (202, {"cancelled": True}))
        self.assertEqual(self.server.wait(long)["state"], "cancelled")
        self.assertEqual(self.server.wait(waiting)["state"], "done")
        self.assertEqual(self.server.change("POST", f"/api/jobs/{long['id']}/cancel")[1], {"cancelled": False})
        self.assertEqual(self.server.change("DELETE", f"/api/jobs/{long['id']}")[0], 200)
        self.server.get(f"/api/jobs/{long['id']}", 404)
        self.assertFalse(os.path.exists(os.path.join(self.server.root, "serve", "jobs", long["id"])))

    def test_what_is_wrong_with_a_request(self):
        rows = [({"kind": "dance"}, "unknown kind"), ({"kind": "sample", "options": {"colour": 1}}, "unknown option 'colour'"),
                ({"kind": "sample", "options": {"model": "../x"}}, "no model"), ({"kind": "sample", "options": {"model": "/etc/passwd"}}, "no model"),
                ({"kind": "sample", "options": {"out": "x"}}, "unknown option"), ({"kind": "sample", "options": {"config": "x"}}, "unknown option"),
                ({"kind": "sample", "options": {"n": "many"}}, "whole number"), ({"kind": "sample", "options": {"n": -1}}, "1 to 10000000"),
                ({"kind": "sample", "options": {"schedule": "/etc/passwd"}}, "no value"), ({"kind": "sample", "options": {"schedule": "serve"}}, "no value"),
                ({"kind": "sample", "options": {"n": {"a": 1}}}, "give a number"), ({"kind": "sample", "options": []}, "no JSON object"),
                ({"kind": "sample", "extra": 1}, "unknown key"), ([], "no JSON object"), ({"kind": "denoise"}, "0 pictures"),
                ({"kind": "denoise", "pictures": ["AAAA"]}, "neither PNG"), ({"kind": "denoise", "pictures": ["?"]}, "base64"),
                ({"kind": "denoise", "pictures": [1]}, "base64"), ({"kind": "sample", "mask": "AAAA"}, "no mask"),
                ({"kind": "train", "options": {"data": "../../etc"}}, "no data set"), ({"kind": "train", "options": {"resume": "none"}}, "no run")]
        for request, part in rows:
            status, answer = self.server.change("POST", "/api/jobs", request)
            self.assertEqual(status, 422, f"{request} {answer}")
            self.assertIn(part, answer["error"], request)
            check_schema(answer, self.description["components"]["schemas"]["Error"], self.description)
        left = os.listdir(os.path.join(self.server.root, "serve", "jobs"))
        self.assertEqual(sorted(left), sorted(job["id"] for job in self.server.get("/api/jobs")), "refused requests leave no folder")
        found = self.server.wait(self.server.job("sample", seeds="0", size="31x9", model="stacked-mnist"))
        self.assertEqual(found["state"], "failed")
        self.assertIn("size", found["error"])


class Life(unittest.TestCase):
    def test_a_killed_server_goes_on(self):
        with Server() as server:
            drawn = server.done("sample", seeds="0-1", **FASHION)
            first = server.job("sample", seeds="0-7", sampler="langevin", steps=400, batch=2, **FASHION)
            second = server.job("sample", seeds="5", **FASHION)
            server.wait(first, ["running"])
            parts = f"{server.root}/serve/jobs/{first['id']}/out/parts"
            while not os.path.isdir(parts) or not any(name.endswith(".safetensors") for name in os.listdir(parts)):
                time.sleep(0.05)
            server.stop(signal.SIGKILL)
            server.start()
            self.assertEqual(server.get(f"/api/jobs/{drawn['id']}")["result"], drawn["result"])
            found = server.wait(first)
            self.assertEqual((found["state"], found["again"], found["result"]["n"]), ("done", True, 8), found["error"])
            self.assertLess(found["result"]["drawn"], 8, "what was drawn before is kept")
            self.assertEqual(server.wait(second)["state"], "done")

    def test_train_stop_resume_and_watch(self):
        with Server() as server:
            job = server.job("train", data="fashion-mnist", net="res6", width=4, steps=100000, batch=8, limit=64, stats_every=5,
                             preview_every=20, save_every=20, snapshot_every=20)
            run = None
            while not run:
                found = server.get(f"/api/jobs/{job['id']}")
                self.assertIn(found["state"], ("queued", "running"), found["error"])
                run = found["run"]
                time.sleep(0.1)
            facts = None
            for name, values in server.events(f"/api/runs/{run}/events"):
                self.assertEqual(name, "run")
                facts = values["facts"]
                if facts["step"] >= 40 and facts["previews"]:
                    break
            self.assertTrue(facts["locked"])
            self.assertGreater(len(values["curve"]), 5)
            self.assertEqual(len(values["curve"][0]["loss_quarters"]), 4)
            status, headers, _ = server.ask("GET", f"/api/runs/{run}/files/{facts['previews'][0]}")
            self.assertEqual((status, headers["Content-Type"]), (200, "image/png"))
            self.assertEqual(server.ask("GET", f"/api/runs/{run}/files/ema.safetensors")[0], 404)
            server.change("POST", f"/api/jobs/{job['id']}/cancel")
            self.assertEqual(server.wait(job)["state"], "cancelled")
            step = server.get(f"/api/runs/{run}")["facts"]["step"]
            again = server.job("train", resume=run)
            while server.get(f"/api/runs/{run}")["facts"]["step"] <= step:
                self.assertIn(server.get(f"/api/jobs/{again['id']}")["state"], ("queued", "running"))
                time.sleep(0.2)
            server.stop(signal.SIGKILL)
            server.start()
            self.assertEqual(server.wait(again, ["running"])["again"], True)
            names = [one["name"] for one in server.get("/api/models")]
            self.assertIn(f"runs/{run}/ema-000020.safetensors", names)
            server.done("sample", model=f"runs/{run}/ema-000020.safetensors", seeds="0", sampler="fast", steps=2)
            server.change("POST", f"/api/jobs/{again['id']}/cancel")
            self.assertEqual(server.wait(again)["state"], "cancelled")

    def training(self, server):
        """A job that trains for long, and its run, which has statistics."""
        job = server.job("train", data="fashion-mnist", net="res6", width=4, steps=100000, batch=8, limit=64, stats_every=5, save_every=1000)
        while not any(one["step"] for one in server.get("/api/runs")):
            self.assertIn(server.get(f"/api/jobs/{job['id']}")["state"], ("queued", "running"))
            time.sleep(0.1)
        return job, server.get(f"/api/jobs/{job['id']}")["run"]

    def test_ctrl_c_keeps_what_is_at_work(self):
        with Server(own_session=True) as server:
            job, run = self.training(server)
            with socket.create_connection(("127.0.0.1", server.port)):  # which takes the server a moment to end
                self.assertEqual(server.interrupt(), 0)
            server.start()
            found = server.wait(job, ["running", "failed", "done"])
            self.assertEqual((found["state"], found["again"], found["run"]), ("running", True, run), found["error"])
            server.change("POST", f"/api/jobs/{job['id']}/cancel")
            self.assertEqual(server.wait(job)["state"], "cancelled")

    def test_a_killed_training_is_seen_to_have_ended(self):
        with Server() as server:
            job, run = self.training(server)
            events = server.events(f"/api/runs/{run}/events")
            self.assertTrue(next(events)[1]["facts"]["locked"])
            (child,) = server.children()
            self.assertFalse([name for name in server.open_files(child) if name.startswith("socket:")], "connections are the server's alone")
            os.kill(child, signal.SIGKILL)
            while next(events)[1]["facts"]["locked"]:
                continue
            found = server.wait(job)
            self.assertEqual((found["state"], found["error"]), ("failed", "ended by signal 9 (Killed)"))
            self.assertTrue(os.path.exists(os.path.join(server.root, "runs", run, "lock")), "the file of the lock is left")
            self.assertFalse(server.get(f"/api/runs/{run}")["facts"]["locked"])

    def test_a_run_that_is_shortened_and_gone(self):
        with Server() as server:
            folder = os.path.join(server.root, "runs", "00000-x")
            os.makedirs(folder)
            stats = os.path.join(folder, "stats.jsonl")
            with open(os.path.join(folder, "options.json"), "w", encoding="utf-8") as file:
                file.write('{"steps": 9}')
            self.assertEqual([one["step"] for one in server.get("/api/runs")], [0])
            for text, step, lines in (('{"step":1}\n{"step":2}\n', 2, 2), ('{"step":3}\n{"step":4', 3, 1), ('{"step":1}\n' * 5000, 1, 1000)):
                with open(stats, "w", encoding="utf-8") as file:
                    file.write(text)
                found = server.get("/api/runs/00000-x")
                self.assertEqual(found["facts"]["step"], step)
                self.assertLessEqual(len(found["curve"]), lines)
                self.assertGreaterEqual(len(found["curve"]), lines // 2)
            os.remove(stats)
            self.assertEqual(server.get("/api/runs/00000-x")["curve"], [])

    def test_a_damaged_run_hides_no_others(self):
        with Server() as server:
            for name, text in (("00000-a", '{"steps": 9}'), ("00001-b", '{"steps"'), ("00002-c", '{"steps": 7}')):
                os.makedirs(os.path.join(server.root, "runs", name))
                with open(os.path.join(server.root, "runs", name, "options.json"), "w", encoding="utf-8") as file:
                    file.write(text)
            good, damaged, last = server.get("/api/runs")
            self.assertEqual((good["steps"], last["steps"]), (9, 7))
            self.assertEqual((sorted(damaged), damaged["name"]), (["error", "name"], "00001-b"))
            self.assertIn("options.json: not a JSON table", damaged["error"])

    def test_limits_of_time_and_number(self):
        with Server("--job-seconds", "1", "--queue", "2") as server:
            first = server.job("sample", sampler="langevin", steps=100000, **FASHION)
            server.wait(first, ["running"])
            server.job("sample", seeds="1", **FASHION)
            server.job("sample", seeds="2", **FASHION)
            status, answer = server.change("POST", "/api/jobs", {"kind": "sample", "options": FASHION})
            self.assertEqual((status, answer["error"]), (429, "2 jobs wait already; try again later"))
            found = server.wait(first)
            self.assertEqual((found["state"], found["error"]), ("failed", "stopped: it took more than 1 seconds"))

    @unittest.skipIf(SANITIZED, "the sanitizers' own memory would count")
    def test_limit_of_memory(self):
        with Server("--job-memory", "20") as server:
            found = server.wait(server.job("sample", seeds="0-63", **FASHION))
            self.assertEqual(found["state"], "failed")
            self.assertRegex(found["error"], "memory|signal")
            self.assertEqual(server.ask("GET", "/api/jobs")[0], 200)

    def test_one_server_for_a_root(self):
        with Server() as server:
            other = Server(root=server.root)
            with self.assertRaises(TypeError):
                other.start()
            self.assertEqual(other.stop(), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
