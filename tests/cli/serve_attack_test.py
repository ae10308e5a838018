"""mdsm serve against those who mean no good: paths that lead out, foreign pages, missing tokens, bombs, slow and half-open
clients. Each is refused with the right status, in bounded memory, while others are served."""
import json
import os
import resource
import signal
import socket
import sys
import time
import unittest
import zlib

from program import call
from serve_tools import Server, png_of, text_of

SANITIZED = "sanitized" in sys.argv[2:]


def escapes():
    """Ways to write a path that leads out of where it begins."""
    dots = ["..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "..%00", "%00..", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae", "..;", "....", "%uff0e%uff0e",
            "..%0d", "..%20"]
    slashes = ["/", "%2f", "%2F", "\\", "%5c", "%252f", "%c0%af", "//"]
    found = [slash.join([dot] * 6) + slash + "etc" + slash + "passwd" for dot in dots[:7] for slash in slashes]
    found += [slash.join([dot] * 4) + "/etc/passwd" for dot in dots[7:] for slash in ("/", "%2f")]
    return found + ["/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "~/x", "out/../../../job.json", "out/%2e%2e/job.json", "./job.json", "-x", ".hidden",
                    "a" * 5000, "out//grid.png", "out/\x7f", "link/passwd"]


class Attack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().__enter__()
        cls.job = cls.server.done("sample", model="fashion-mnist", seeds="0", sampler="fast", steps=2)
        cls.csrf = cls.server.csrf

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def answers(self):
        return self.server.ask("GET", "/api/jobs", timeout=5)[0]

    def post(self, head, body=b"{}", **more):
        """A POST with this head beside the host."""
        return self.server.status_of(b"POST /api/jobs HTTP/1.1\r\n" + self.server.host() + head.encode() + b"\r\n" + body, **more)

    def head(self, **change):
        fields = {"Content-Type": "application/json", "X-CSRF-Token": self.csrf, "Content-Length": "2", **change}
        return "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value is not None)

    def test_paths_that_lead_out(self):
        folder = os.path.join(self.server.root, "serve", "jobs", self.job["id"])
        os.symlink("/etc", os.path.join(folder, "out", "link"))
        os.makedirs(os.path.join(self.server.root, "runs", "00000-x"))
        with open(os.path.join(self.server.root, "runs", "00000-x", "options.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        os.symlink("/etc/passwd", os.path.join(self.server.root, "runs", "00000-x", "passwd.txt"))
        ways = escapes()
        self.assertGreaterEqual(len(ways), 50)
        starts = [f"/api/jobs/{self.job['id']}/files/", f"/api/jobs/{self.job['id']}/files/out/", "/api/runs/", "/api/runs/00000-x/files/", "/api/detectors/",
                  "/api/samplers/fast/", "/api/samplers/fast/runs/", "/"]
        for start in starts:
            for way in ways + ["passwd.txt"]:
                data = b"GET " + (start + way).encode() + b" HTTP/1.1\r\n" + self.server.host() + b"Connection: close\r\n\r\n"
                answer = self.server.raw(data)
                status = int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else None
                self.assertIn(status, (400, 404), start + way)
                self.assertNotIn(b"root:", answer, start + way)

    def test_models_and_data_that_lead_out(self):
        os.makedirs(os.path.join(self.server.root, "models"), exist_ok=True)
        os.symlink("/etc", os.path.join(self.server.root, "models", "etc"))
        with open(os.path.join(self.server.root, "outside.safetensors"), "wb"):  # of the folder of models
            os.symlink("../outside.safetensors", os.path.join(self.server.root, "models", "linked.safetensors"))
        for name in ["models/linked.safetensors", "../models/x", "models/../../x", "models/etc/passwd", "runs/../x", "/etc/passwd", "models/x.pt", "", "."]:
            for kind, key in (("sample", "model"), ("train", "data"), ("train", "init"), ("train", "resume"), ("score", "detector")):
                status, answer = self.server.change("POST", "/api/jobs", {"kind": kind, "options": {key: name}})
                self.assertEqual(status, 422, (kind, key, name, answer))

    def test_foreign_hosts_and_origins(self):
        def get(*head):
            return self.server.status_of(b"GET /api/jobs HTTP/1.1\r\n" + b"".join(line.encode() + b"\r\n" for line in head) + b"Connection: close\r\n\r\n")
        port = self.server.port
        self.assertEqual(get(f"Host: 127.0.0.1:{port}"), 200)
        self.assertEqual(get(f"Host: LOCALHOST:{port}"), 200)
        for host in ["evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.example", f"127.0.0.1:{port + 1}", "", f"localhost:{port}@evil"]:
            self.assertEqual(get(f"Host: {host}"), 421, host)
        self.assertEqual(get(), 421)
        self.assertEqual(get(f"Host: 127.0.0.1:{port}", "Host: evil.example"), 421)
        for origin in ["http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}", "file://", f"http://127.0.0.1:{port}.evil"]:
            self.assertEqual(get(f"Host: 127.0.0.1:{port}", f"Origin: {origin}"), 403, origin)
        self.assertEqual(get(f"Host: 127.0.0.1:{port}", f"Origin: http://localhost:{port}"), 200)
        self.assertEqual(get(f"Host: 127.0.0.1:{port}", "Sec-Fetch-Site: cross-site"), 403)

    def test_what_changes_something(self):
        self.assertEqual(self.post(self.head(**{"X-CSRF-Token": None})), 403)
        self.assertEqual(self.post(self.head(**{"X-CSRF-Token": "0" * 32})), 403)
        self.assertEqual(self.post(self.head(**{"X-CSRF-Token": self.csrf[:-1]})), 403)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", None):
            self.assertEqual(self.post(self.head(**{"Content-Type": kind})), 415, kind)
        self.assertEqual(self.post(self.head(**{"Content-Encoding": "gzip"})), 415)
        self.assertEqual(self.server.status_of(b"PUT /api/jobs HTTP/1.1\r\n" + self.server.host() + b"Content-Length: 0\r\nConnection: close\r\n\r\n"), 405)
        self.assertEqual(self.server.status_of(b"GET /api/jobs HTTP/1.1\r\n" + self.server.host() + b"Content-Length: 5\r\n\r\nGET /"), 400)
        self.assertEqual(self.server.status_of(b"GET /api/jobs HTTP/1.1\r\n" + self.server.host() + b"Range: bytes=0-1,0-1\r\nConnection: close\r\n\r\n"), 416)

    def test_tokens(self):
        refused = call("serve", "--address", "0.0.0.0", "--port", "0")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("--token", refused.stderr)
        self.assertEqual(call("serve", "--token", "short").returncode, 2)
        self.assertIn("an address or a cookie", call("serve", "--token", "0123456789abcdef;&+").stderr)
        token = "0123456789abcdef0123"
        with Server("--address", "0.0.0.0", "--host", "127.0.0.1", "--token", token) as server:
            for path in ("/", "/api/jobs", "/main.js", "/api/session", "/?token=wrong"):
                self.assertEqual(server.ask("GET", path)[0], 401, path)
            for head, status in (({"Authorization": f"Bearer {token}"}, 200), ({"Cookie": f"a=b; mdsm_token={token}"}, 200), ({"Authorization": "Bearer "}, 401),
                                 ({"Authorization": f"Bearer {token}x"}, 401), ({"Authorization": f"Basic {token}"}, 401), ({"Cookie": f"mdsm_tokens={token}"}, 401)):
                self.assertEqual(server.ask("GET", "/api/jobs", headers=head)[0], status, head)
            status, headers, _ = server.ask("GET", f"/?token={token}")
            self.assertEqual((status, headers["Location"]), (303, "/"))
            self.assertIn("HttpOnly; SameSite=Strict", headers["Set-Cookie"])

    def test_bombs_in_bounded_memory(self):
        before = self.server.memory()
        rows = zlib.compress(b"\0" * 50_000_000)  # of 2.5 GB that 50,000 x 50,000 claims
        tall = zlib.compress(b"\0" * (1 + 8000) * 8000)
        for width, height, packed in ((50_000, 50_000, rows), (8000, 8000, tall), (2**31 - 1, 2**31 - 1, rows)):
            status, answer = self.server.change("POST", "/api/jobs", {"kind": "denoise", "pictures": [text_of(png_of(width, height, packed))]})
            self.assertEqual(status, 422, answer)
        deep = b'{"kind":' * 100_000 + b"1" + b"}" * 100_000
        self.assertEqual(self.post(self.head(**{"Content-Length": len(deep)}), deep), 400)
        deep = b"[" * 1_000_000
        self.assertEqual(self.post(self.head(**{"Content-Length": len(deep)}), deep), 400)
        long = b'{"pictures":[' + b"1," * 2_000_000 + b"1]}"
        self.assertEqual(self.post(self.head(**{"Content-Length": len(long)}), long), 400)
        twice = b'{"kind":"sample","kind":"train"}'
        self.assertEqual(self.post(self.head(**{"Content-Length": len(twice)}), twice), 400)
        self.assertEqual(self.post(self.head(**{"Content-Length": 2, "X": "y" * 100_000})), 431)
        self.assertEqual(self.post("X: y\r\n" * 50_000 + self.head()), 431)
        for line in (b"\n", b"\r\r\n"):  # no end of a head
            head = b"GET / HTTP/1.1\r\n" + self.server.host() + line + b"X: y\r\n" * 20_000 + b"\r\n"
            self.assertEqual(self.server.status_of(head), 431, line)
        self.assertEqual(self.server.status_of(b"GET /" + b"a" * 1_000_000), 431)
        self.assertEqual(self.server.status_of(b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + self.server.host() + b"\r\n"), 414)
        for head in (self.head(**{"Content-Length": 10**12}), self.head(**{"Content-Length": None, "Transfer-Encoding": "chunked"})):
            self.assertEqual(self.endless(head, "chunked" in head), 413, head)
        grown = self.server.memory() - before
        print(f"bombs: {grown:.0f} MB more at the peak")
        if not SANITIZED:
            self.assertLess(grown, 400)
        self.assertEqual(self.answers(), 200)

    def endless(self, head, chunked):
        """The status that somebody gets who never stops sending; at most 400 MB here."""
        part = b"x" * 65536
        part = b"10000\r\n" + part + b"\r\n" if chunked else part
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as sent:
            sent.sendall(b"POST /api/jobs HTTP/1.1\r\n" + self.server.host() + head.encode() + b"\r\n")
            try:
                for _ in range(6400):
                    sent.sendall(part)
            except (BrokenPipeError, ConnectionResetError):
                pass
            try:
                answer = sent.recv(1000)
            except ConnectionResetError:
                return None
        return int(answer[9:12])

    def test_large_files_in_bounded_memory(self):
        size = 100 << 20
        with open(os.path.join(self.server.root, "serve", "jobs", self.job["id"], "out", "large.npy"), "wb") as file:
            file.write(b"begin")
            file.truncate(size)
        before, held = self.server.memory(), []
        for _ in range(4):
            held.append(socket.create_connection(("127.0.0.1", self.server.port), timeout=30))
            self.addCleanup(held[-1].close)
            held[-1].sendall(f"GET /api/jobs/{self.job['id']}/files/out/large.npy HTTP/1.1\r\n".encode() + self.server.host() + b"\r\n")
        for one in held:
            self.assertIn(f"Content-Length: {size}\r\n".encode(), one.recv(100_000))
        content = self.server.ask("GET", f"/api/jobs/{self.job['id']}/files/out/large.npy")[2]
        self.assertEqual((len(content), content[:6], content.count(b"\0")), (size, b"begin\0", size - 5))
        grown = self.server.memory() - before
        print(f"five downloads of 100 MB: {grown:.0f} MB more at the peak")
        if not SANITIZED:
            self.assertLess(grown, 50)

    def test_connections_wait_to_be_taken(self):
        os.kill(self.server.process.pid, signal.SIGSTOP)
        try:
            for _ in range(150):
                self.addCleanup(socket.create_connection(("127.0.0.1", self.server.port), timeout=5).close)
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        self.assertEqual(self.answers(), 200)

    def test_too_many_connections_leave_files_for_jobs(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2048)), hard))
        held = []
        with Server() as server:
            for _ in range(900):
                held.append(socket.create_connection(("127.0.0.1", server.port), timeout=30))
                self.addCleanup(held[-1].close)
            self.assertTrue(held[-1].recv(100).startswith(b"HTTP/1.1 503 "))
            self.assertLess(len(server.open_files()), 700)
            for one in held:
                one.close()
            self.assertEqual(server.ask("GET", "/api/jobs", timeout=30)[0], 200)

    def test_slow_and_half_open_clients_do_not_stop_others(self):
        held = []
        for i in range(250):
            held.append(socket.create_connection(("127.0.0.1", self.server.port)))
            self.addCleanup(held[-1].close)
            if i % 3 == 1:
                held[-1].sendall(b"GET / HT")
            if i % 3 == 2:
                held[-1].sendall(b"POST /api/jobs HTTP/1.1\r\n" + self.server.host() + self.head(**{"Content-Length": 1000}).encode() + b"\r\n{")
        slowest = 0
        for _ in range(20):
            start = time.time()
            self.assertEqual(self.answers(), 200)
            slowest = max(slowest, time.time() - start)
        print(f"250 slow clients: an answer takes {slowest * 1000:.0f} ms at most")
        self.assertLess(slowest, 5)
        slow = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        self.addCleanup(slow.close)
        start = time.time()
        slow.sendall(b"GET / HTTP/1.1\r\n")
        try:
            for i in range(60):  # a byte now and then, for ever
                slow.sendall(b"x")
                slow.settimeout(0.5)
                try:
                    answer = slow.recv(1000)
                    break
                except TimeoutError:
                    continue
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        self.assertTrue(answer.startswith(b"HTTP/1.1 408"), answer)
        self.assertLess(time.time() - start, 25)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
