"""mdsm reproduce all --budget smoke on the data sets that are found: everything ends well, every number is there, no
picture is missing. MDSM_REPRODUCE_DATA may name further sets, as "cifar10=PATH svhn=PATH"."""
import os
import subprocess
import sys
import tempfile
import time

data = [word for pair in os.environ.get("MDSM_REPRODUCE_DATA", "").split() for word in ("--source", pair)]
with tempfile.TemporaryDirectory() as folder:
    begin = time.time()
    result = subprocess.run([sys.argv[1], "reproduce", "all", "--budget", "smoke", "--out", folder, *data],
                            stdin=subprocess.DEVNULL)
    print(f"{time.time() - begin:.0f} s")
    assert result.returncode == 0, result.returncode
    with open(os.path.join(folder, "report.html")) as file:
        page = file.read()
    assert " is missing</p>" not in page
    assert page.count("<figure>") >= 8, page.count("<figure>")
    assert '<td class="number">–</td>' not in page, "a number is missing"
