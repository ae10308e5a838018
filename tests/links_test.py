"""The documents hold together: no relative link of a page leads nowhere (neither to a file nor to a heading that is not
there), and docs/README.md links every page below docs.

    links_test.py ROOT
"""
import glob
import os
import re
import sys
import urllib.parse

from small_tree import check_that_mistakes_are_seen

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "src/README.md", "docs/**/*.md"]
CONTENTS = "docs/README.md"


def pages(root):
    found = [path for pattern in PAGES for path in glob.glob(os.path.join(root, pattern), recursive=True)]
    return sorted(os.path.relpath(path, root) for path in found)


def without_code(text):
    """The text without fenced blocks, code inside of lines, and comments."""
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


def links(text):
    """Targets of [text](target), of pictures, of [name]: target and of HTML."""
    text = without_code(text)
    return (re.findall(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", text) +
            re.findall(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?", text, re.MULTILINE) +
            re.findall(r"\b(?:href|src)=\"([^\"]+)\"", text))


def anchors(text):
    """What headings are called in addresses: small letters, spaces as hyphens, no punctuation, numbered if repeated."""
    found = set()
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#{1,6} +(.+?)(?: +#+)?$", text, re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        again = 0
        while (name if not again else f"{name}-{again}") in found:
            again += 1
        found.add(name if not again else f"{name}-{again}")
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def problems(root):
    linked = set()
    for page in pages(root):
        for link in links(read(root, page)):
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue  # another place: not ours to check
            path, _, heading = urllib.parse.unquote(link).partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if target.startswith(("..", "/")):
                yield f"{page}: {link} leads out of the repository"
            elif not os.path.exists(os.path.join(root, target)):
                yield f"{page}: {link} leads nowhere"
            elif heading and heading not in anchors(read(root, target)):
                yield f"{page}: {link}: {target} has no such heading"
            if page == CONTENTS:
                linked.add(target)
    for page in pages(root):
        if page.startswith("docs/") and page != CONTENTS and page not in linked:
            yield f"{page} is not in {CONTENTS}"


def check_that_it_sees():
    """A small tree that is right, then one mistake at a time."""
    tree = {
        "README.md": "# A\n\n[b](docs/b.md) ![p](docs/p.png) [web](https://example.org/nothing) `[code](no.md)`\n\n"
                     "```\n[code](no.md)\n```\n<!-- [hidden](no.md) -->\n[two]\n\n[two]: docs/sub/c.md#the-end-of-it\n",
        "src/README.md": "[up](../docs/b.md#what-b-does)\n", "CONTRIBUTING.md": "[folder](docs)\n", "CHANGELOG.md": "\n",
        "docs/README.md": "[b](b.md) <a href=\"sub/c.md\">c</a> [self](#contents)\n\n# Contents\n",
        "docs/b.md": "# What `b` does\n\n## Same\n\n## Same\n\n[self](#same-1)\n", "docs/p.png": "",
        "docs/sub/c.md": "[b](../b.md)\n\n### The end, of it\n",
    }
    mistakes = {
        "README.md: docs/x.md leads nowhere": {"README.md": "[b](docs/x.md)"},
        "README.md: docs/x.png leads nowhere": {"README.md": "![p](docs/x.png \"title\")"},
        "CHANGELOG.md: no.md leads nowhere": {"CHANGELOG.md": "[one]: no.md\n"},
        "src/README.md: b.md leads nowhere": {"src/README.md": "[b](b.md)"},
        "CONTRIBUTING.md: docs/b.md#b: docs/b.md has no such heading": {"CONTRIBUTING.md": "[b](docs/b.md#b)"},
        "docs/b.md: #same-2: docs/b.md has no such heading": {"docs/b.md": tree["docs/b.md"].replace("#same-1", "#same-2")},
        "docs/sub/c.md: b.md leads nowhere": {"docs/sub/c.md": "[b](b.md)\n\n### The end, of it\n"},
        "leads out of the repository": {"README.md": "[up](../elsewhere)"},
        "docs/sub/d.md is not in docs/README.md": {"docs/sub/d.md": "new\n"},
        "docs/b.md is not in docs/README.md": {"docs/README.md": "[c](sub/c.md)\n"},
    }
    check_that_mistakes_are_seen(problems, tree, mistakes)


check_that_it_sees()
assert len(pages(sys.argv[1])) > 20
found = sorted(set(problems(sys.argv[1])))
print("\n".join(found))
sys.exit(1 if found else 0)
