"""Pages made from data are what the data says, and the README is true."""

from __future__ import annotations

import re
import subprocess
import sys

from place import ROOT


def test_generated_pages_are_fresh() -> None:
    told = subprocess.run([sys.executable, "tools/make_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr + "\nwrite them anew: make docs"


def test_the_readme_names_only_files_that_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "compat_data/README.md", "templates/README.md"):
        text = (ROOT / name).read_text("utf-8")
        links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
        base = (ROOT / name).parent
        assert not [link for link in links if not (base / link).exists()], name


def test_the_tree_speaks_of_itself_alone() -> None:
    """No package registry's host anywhere: the clients' defaults know them."""
    hosts = ["py" + "pi.org", "python" + "hosted.org", "deb." + "debian.org", "registry." + "npmjs.org"]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\n")
    guilty = []
    for name in filter(None, tracked):
        path = ROOT / name
        if path.is_file():
            text = path.read_bytes()
            guilty += [f"{name}: {host}" for host in hosts if host.encode() in text]
    assert not guilty
