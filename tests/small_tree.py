"""For tests that read the repository: a small tree that is right, then one mistake at a time, each of which must be seen."""
import os
import tempfile


def check_that_mistakes_are_seen(problems, tree, mistakes):
    """problems(folder) lists what is wrong; tree: {path: text}; mistakes: {words of the problem: changes of the tree}."""
    for expected, change in [("", {})] + list(mistakes.items()):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**tree, **change}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            found = "\n".join(problems(root))
            assert expected in found and (expected or not found), (expected, found)
