"""The site of scripts/site: every link in it, to a file or to a heading, leads somewhere; every document is a page.

    site_test.py ROOT
"""
import html.parser
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = os.path.abspath(sys.argv[1])


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.links, self.words = set(), [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.names.add(value)
            if name in ("href", "src"):
                self.links.append(value)

    def handle_data(self, data):
        self.words += data


def read(folder):
    pages = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                with open(os.path.join(place, name), encoding="utf-8") as file:
                    pages[os.path.relpath(os.path.join(place, name), folder)] = Page(file.read())
    return pages


def problems(folder):
    pages = read(folder)
    for name, page in pages.items():
        for link in page.links:
            if re.match(r"https?:|mailto:", link):
                continue
            path, _, heading = urllib.parse.unquote(link).partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if target.startswith(".."):
                yield f"{name}: {link} leads out of the site"
            elif not os.path.isfile(os.path.join(folder, target)):
                yield f"{name}: {link} leads nowhere"
            elif heading and heading not in pages[target].names:
                yield f"{name}: {link}: no such heading"


def misplaced(text):
    """Functions that docs/paper.md names before a file that does not have them."""
    for names, path in re.findall(r"((?:`[\w:]+`[^`|()]*)+)\(\[(src/[^\]]+\.(?:cpp|h))\]", text):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            code = file.read()
        for name in re.findall(r"`([\w:]+)`", names):
            if not re.search(rf"\b{name.split('::')[-1]}\b", code):
                yield f"docs/paper.md: {path} has no {name}"


def check_that_it_sees(folder):
    """Mistakes made on purpose in the finished site."""
    os.rename(folder + "/docs/gpu.html", folder + "/docs/away.html")
    assert any("gpu.html leads nowhere" in one for one in problems(folder))
    os.rename(folder + "/docs/away.html", folder + "/docs/gpu.html")
    with open(folder + "/index.html", "a", encoding="utf-8") as file:
        file.write('<a href="docs/faq.html#nothing">x</a>')
    assert any("no such heading" in one for one in problems(folder))


with tempfile.TemporaryDirectory() as site:
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts/site"), site], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == 77:
        print(done.stderr)
        sys.exit(77)
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)
    with open(os.path.join(ROOT, "docs/paper.md"), encoding="utf-8") as file:
        paper = file.read()
    assert list(misplaced(paper.replace("`noise_levels`", "`nose_levels`")))
    found = sorted(set(problems(site)) | set(misplaced(paper)))
    print("\n".join(found))
    pages = read(site)
    assert len(pages) > 40, len(pages)
    for wanted in ("index.html", "docs/index.html", "docs/faq.html", "docs/gpu.html", "docs/paper.html", "docs/cli.html", "docs/models/cifar10.html", "src/README.html"):
        assert len(pages[wanted].words) > 500, wanted
    menu = [link for link in pages["docs/data.html"].links if link.endswith("sampling.html")]
    assert menu, "the menu has every page"
    if not found:
        check_that_it_sees(site)
sys.exit(1 if found else 0)
