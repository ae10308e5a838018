"""A server of its own for a test: started on a free port with an empty root, asked by plain HTTP."""
import base64
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import zlib

from program import ENVIRONMENT, MDSM


def png(width, height, value=lambda x, y: (x * 7 + y * 11) % 256):
    """A grey picture."""
    rows = b"".join(b"\0" + bytes(value(x, y) for x in range(width)) for y in range(height))
    return png_of(width, height, zlib.compress(rows))


def png_of(width, height, packed):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", packed) +
            chunk(b"IEND", b""))


def text_of(data):
    return base64.b64encode(data).decode()


class Server:
    """with Server() as server: server.get("/api/models")"""

    def __init__(self, *options, root=None, own_session=False):
        self.options, self.folder, self.own_session = options, None, own_session
        if root is None:
            self.folder = tempfile.TemporaryDirectory()
            root = self.folder.name
        self.root, self.process, self.csrf = root, None, None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        if self.folder:
            self.folder.cleanup()

    def start(self, port=0):
        self.process = subprocess.Popen([MDSM, "serve", "--root", self.root, "--port", str(port), *self.options],
                                        stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=self.own_session)
        line = self.process.stdout.readline()
        self.url = re.search(r"http://\S+", line)[0]
        self.port = int(re.search(r":(\d+)/", self.url)[1])
        self.csrf = None

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def ask(self, method, path, body=None, headers=None, timeout=60):
        """(status, headers, bytes)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, dict(response.getheaders()), content

    def get(self, path, status=200):
        found, _, content = self.ask("GET", path)
        if found != status:
            raise AssertionError(f"GET {path}: {found}, not {status}: {content[:300]}")
        return json.loads(content)

    def change(self, method, path, body=None, headers=None):
        """(status, JSON)"""
        if self.csrf is None:
            self.csrf = self.get("/api/session")["csrf"]
        status, _, content = self.ask(method, path, json.dumps(body if body is not None else {}),
                                      {"Content-Type": "application/json", "X-CSRF-Token": self.csrf, **(headers or {})})
        return status, json.loads(content)

    def job(self, kind, pictures=(), mask=None, **options):
        """A new job; names with _ for -."""
        request = {"kind": kind, "options": {name.replace("_", "-"): value for name, value in options.items()}}
        if pictures:
            request["pictures"] = [text_of(one) for one in pictures]
        if mask:
            request["mask"] = text_of(mask)
        status, found = self.change("POST", "/api/jobs", request)
        if status != 201:
            raise AssertionError(f"{kind}: {status} {found}")
        return found

    def wait(self, job, states=("done", "failed", "cancelled"), seconds=300):
        until = time.time() + seconds
        while time.time() < until:
            found = self.get(f"/api/jobs/{job['id']}")
            if found["state"] in states:
                return found
            time.sleep(0.1)
        raise AssertionError(f"job {job['id']} is still {found['state']}: {found['progress']}")

    def done(self, *arguments, **options):
        found = self.wait(self.job(*arguments, **options))
        if found["state"] != "done":
            raise AssertionError(f"{found['command']}: {found['state']}: {found['error']}")
        return found

    def events(self, path):
        """(name, JSON) as they come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("GET", path)
        response = connection.getresponse()
        name = None
        for line in response:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])
        connection.close()

    def raw(self, data, timeout=20):
        """What comes back to these bytes until the server closes; the connection stays open on this side."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as sent:
            try:
                sent.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            found = b""
            try:
                while part := sent.recv(65536):
                    found += part
                    if b"\r\n\r\n" in found and b"Connection: close" not in found and len(found) > 20:
                        break
            except (ConnectionResetError, TimeoutError):
                pass
        return found

    def status_of(self, data, timeout=20):
        found = re.match(rb"HTTP/1.1 (\d+)", self.raw(data, timeout))
        return int(found[1]) if found else None

    def interrupt(self):
        """Ctrl-C in its terminal, which sends it to every process of the group; for a server with a session of its own."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.stop(0)

    def children(self):
        """The processes of its jobs."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    if int(file.read().rsplit(")", 1)[1].split()[1]) == self.process.pid:
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def open_files(self, pid=None):
        folder = f"/proc/{pid or self.process.pid}/fd"
        found = []
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed in the meantime
                found.append(os.readlink(os.path.join(folder, name)))
        return found

    def memory(self):
        """Peak of the server itself, in MB."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s*(\d+)", file.read())[1]) / 1024

    def host(self):
        return f"Host: 127.0.0.1:{self.port}\r\n".encode()


def check_schema(value, schema, whole, where="$"):
    """A small part of JSON Schema: what openapi.json uses."""
    if "$ref" in schema:
        names, schema = schema["$ref"].lstrip("#/").split("/"), whole
        for name in names:
            schema = schema[name]
    if "anyOf" in schema:
        for one in schema["anyOf"][:-1]:
            try:
                return check_schema(value, one, whole, where)
            except AssertionError:
                pass
        return check_schema(value, schema["anyOf"][-1], whole, where)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        raise AssertionError(f"{where}: {type(value).__name__}, not {schema['type']}")
    if "enum" in schema and value not in schema["enum"]:
        raise AssertionError(f"{where}: {value!r} is none of {schema['enum']}")
    for name in schema.get("required", ()):
        if name not in value:
            raise AssertionError(f"{where}: has no {name}")
    for name, one in schema.get("properties", {}).items():
        if name in value:
            check_schema(value[name], one, whole, f"{where}.{name}")
    for i, one in enumerate(value if "items" in schema else ()):
        check_schema(one, schema["items"], whole, f"{where}[{i}]")
