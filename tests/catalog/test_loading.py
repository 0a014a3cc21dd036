"""Loading: strict about what people write, never stale, safe when the cache is raced for, damaged or out of reach."""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from place import ROOT

from provisioner import resources
from provisioner.catalog import load as loading
from provisioner.catalog.compile import compile_tables, read_rows
from provisioner.catalog.load import Catalog, load, overlay_folder, signature
from provisioner.catalog.model import TABLES
from provisioner.errors import Problem


@pytest.fixture()
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of some of the shipped data that a test may change, with a cache and an overlay folder of its own."""
    folder = tmp_path / "compat_data"
    shipped = Path(resources.compat_data())
    for name in ("README.md", "index.yaml", "nvidia/cuda_majors.yaml", "nvidia/capabilities.yaml", "nvidia/architectures.yaml",
                 "nvidia/gpu_aliases.yaml", "torch/releases.yaml", *(f"sources/{path.name}" for path in (shipped / "sources").iterdir())):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shipped / name, folder / name)
    gpus = (shipped / "nvidia" / "gpus.csv").read_text("utf-8").splitlines(keepends=True)
    (folder / "nvidia" / "gpus.csv").write_text("".join(gpus[:60]), "utf-8")
    monkeypatch.setattr(resources, "compat_data", lambda: str(folder))
    monkeypatch.setenv("PROVISION_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PROVISION_CACHE_HOME", str(tmp_path / "cache"))
    loading._loaded.clear()
    yield folder
    loading._loaded.clear()


def again() -> Catalog:
    """What another process would load."""
    loading._loaded.clear()
    return load()


def edit(path: Path, old: str, new: str, keep_time: bool = False) -> None:
    """Change a file, as an editor would; `keep_time` puts the old times back, as an archive does."""
    state = path.stat()
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")
    if keep_time:
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def age(folder: Path) -> None:
    """Make every file's content look long unchanged."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (1_600_000_000, 1_600_000_000))


def floor(catalog: Catalog) -> str:
    return str(catalog.row("cuda_majors", "12").min_driver_linux)


def overlay(name: str, text: str) -> Path:
    path = Path(overlay_folder(), name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


MINE = ('table: cuda_majors\ndefaults: {source: my-lab, date: "2026-12-01", confidence: stated}\nrows:\n'
        '  - {major: "14", min_driver_linux: "640.10", min_driver_windows: "640.10"}\n')


class TestNeverStale:
    """An edit is seen by the very next load."""

    def test_an_edit_of_the_same_length(self, data: Path) -> None:
        assert floor(again()) == "525.60.13"
        edit(data / "nvidia" / "cuda_majors.yaml", "525.60.13", "525.60.14")
        assert floor(again()) == "525.60.14"

    def test_edits_faster_than_any_clock(self, data: Path) -> None:
        last = "525.60.13"
        for number in range(20, 50):
            edit(data / "nvidia" / "cuda_majors.yaml", last, f"525.60.{number}", keep_time=True)
            last = f"525.60.{number}"
            assert floor(again()) == last

    def test_an_edit_that_leaves_size_and_time_as_they_were(self, data: Path) -> None:
        age(data)
        assert floor(again()) == "525.60.13"
        edit(data / "nvidia" / "cuda_majors.yaml", "525.60.13", "525.60.99", keep_time=True)
        assert floor(again()) == "525.60.99"

    def test_a_file_that_comes_and_goes(self, data: Path) -> None:
        assert again().row("cuda_majors", "14") is None
        path = overlay("mine.yaml", MINE)
        assert again().row("cuda_majors", "14").min_driver_linux == "640.10"
        path.unlink()
        assert again().row("cuda_majors", "14") is None

    def test_within_a_process_too(self, data: Path) -> None:
        assert floor(load()) == "525.60.13"
        edit(data / "nvidia" / "cuda_majors.yaml", "525.60.13", "525.60.14")
        assert floor(load()) == "525.60.14"

    def test_the_signature_tells(self, data: Path) -> None:
        before = signature()
        edit(data / "nvidia" / "cuda_majors.yaml", "525.60.13", "525.60.14", keep_time=True)
        assert signature() != before

    def test_another_release_of_provision(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        again()
        made = []
        real = compile_tables
        monkeypatch.setattr("provisioner.catalog.compile.compile_tables", lambda *given: made.append(1) or real(*given))
        again()
        assert made == []
        monkeypatch.setattr(loading, "_SELF", ("0.0.0", sys.version))
        again()
        assert made == [1]

    def test_a_touch_costs_no_compiling(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        again()
        age(data)
        monkeypatch.setattr("provisioner.catalog.compile.compile_tables", lambda *_: pytest.fail("compiled anew"))
        assert floor(again()) == "525.60.13"

    def test_a_derived_table_follows(self, data: Path) -> None:
        def derive(catalog: Catalog) -> str:
            return floor(catalog)

        assert again().extra("test", derive, "1") == "525.60.13"
        edit(data / "nvidia" / "cuda_majors.yaml", "525.60.13", "525.60.14")
        assert again().extra("test", derive, "1") == "525.60.14"

    def test_a_derived_table_is_of_the_overlay_or_not(self, data: Path) -> None:
        overlay("mine.yaml", MINE)
        loading._loaded.clear()
        assert load().extra("count", lambda catalog: len(catalog.cuda_majors), "1") \
            == load(overlays=False).extra("count", lambda catalog: len(catalog.cuda_majors), "1") + 1


class TestCache:
    """The cache saves time and decides nothing."""

    def cached(self) -> Path:
        return next(Path(resources.user_cache()).glob("catalog.*.bin"))

    @pytest.mark.parametrize("kind", ["empty", "half", "one bit", "other", "marshal of something else", "another format"])
    def test_damaged(self, data: Path, kind: str) -> None:
        digest = again().digest
        path = self.cached()
        whole = path.read_bytes()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 4
        path.write_bytes({"empty": b"", "half": whole[:len(whole) // 2], "one bit": bytes(flipped), "other": b"\0" * 4096,
                          "marshal of something else": marshal.dumps(["x", 3]), "another format": whole[:4] + b"\x63" + whole[5:]}[kind])
        catalog = again()
        assert catalog.digest == digest
        assert len(catalog.gpus) > 50
        assert self.cached().read_bytes()[:8] != b"\0" * 8  # mended

    def test_a_folder_that_is_a_file(self, data: Path, tmp_path: Path) -> None:
        (tmp_path / "cache").write_text("in the way")
        assert floor(again()) == "525.60.13"
        assert again().extra("x", lambda catalog: 7, "1") == 7

    def test_read_only(self, data: Path, tmp_path: Path) -> None:
        (tmp_path / "cache").mkdir(mode=0o500)
        try:
            assert floor(again()) == "525.60.13"
        finally:
            (tmp_path / "cache").chmod(0o700)

    def test_nothing_is_left_beside_it(self, data: Path) -> None:
        again().extra("x", lambda catalog: 7, "1")
        assert not list(Path(resources.user_cache()).glob("*.tmp"))

    def test_racing_processes(self, tmp_path: Path) -> None:
        env = {**os.environ, "PROVISION_CACHE_HOME": str(tmp_path / "cache"), "PROVISION_DATA_HOME": str(tmp_path / "data")}
        code = ("from provisioner.catalog.load import load\nc = load()\n"
                "print(c.digest, len(c.gpus), c.extra('race', lambda c: len(c.torch_builds), '1'))")
        children = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) for _ in range(6)]
        told = {child.communicate()[0] for child in children}
        assert all(child.returncode == 0 for child in children)
        assert len(told) == 1
        assert not list((tmp_path / "cache").glob("*.tmp"))

    def test_a_start_imports_no_reader(self, tmp_path: Path) -> None:
        env = {**os.environ, "PROVISION_CACHE_HOME": str(tmp_path / "cache"), "PROVISION_DATA_HOME": str(tmp_path / "data")}
        code = ("import sys, time\ntime.time_ns = lambda: 4 * 10**18  # no file counts as new\n"
                "from provisioner.catalog.load import load\nload().gpus\n"
                "print(sorted({'yaml', 'hashlib', 'csv', 'typing', 're', 'pathlib'} & set(sys.modules)))")
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True, capture_output=True)
        second = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        assert second.stdout.strip() == "[]"


def problem(name: str, text: str) -> Problem:
    overlay(name, text)
    with pytest.raises(Problem) as caught:
        again()
    assert caught.value.status == 2
    return caught.value


class TestStrict:
    """What is off is told with file and line."""

    @pytest.mark.parametrize(("line", "what", "todo"), [
        ('{major: "14", min_driver_linx: "1.2", source: s, date: "2026-01-01", confidence: stated}', "min_driver_linx", "min_driver_linux"),
        ('{major: 14, source: s, date: "2026-01-01", confidence: stated}', "quoted text", ""),
        ('{major: "14", min_driver_linux: 640.10, source: s, date: "2026-01-01", confidence: stated}', "640.1", ""),
        ('{major: "14", source: s, date: "2026-01-01"}', "lacks source, date or confidence", "measured"),
        ('{major: "14", source: s, date: "2026-01-01", confidence: sure}', "lacks source, date or confidence", "stated"),
        ('{major: "14", source: s, date: 2026-01-01, confidence: stated}', "date is", ""),
        ('{min_driver_linux: "1.2", source: s, date: "2026-01-01", confidence: stated}', "lacks its key", ""),
        ('{major: "14", major: "15", source: s, date: "2026-01-01", confidence: stated}', "given twice", ""),
        ("{major: [}", "not YAML", ""),
        ("{? [a] : b}", "key has to be a word", ""),
        ("just words", "list of mappings", ""),
    ])
    def test_a_row(self, data: Path, line: str, what: str, todo: str) -> None:
        found = problem("mine.yaml", f"table: cuda_majors\nrows:\n  - {line}\n")
        assert what in found.what and todo in found.todo
        assert found.file.endswith("mine.yaml")
        assert found.line == 3 or "mappings" in what

    @pytest.mark.parametrize(("text", "what"), [
        ("", None), ("# nothing\n", None), ("---\n---\n", None),
        ("rows: []\n", "names no table"), ("table: cuda_major\nrows: []\n", "'cuda_major'"), ("- 1\n", "names no table"),
        ("table: cuda_majors\nrow: []\n", "'row'"), ("table: cuda_majors\nrows: {}\ndefaults: {x: 1}\n", "'x'"),
        ("table: cuda_majors\nrows: 7\n", "list of mappings"), ("\x00", "not YAML"), ("a: &a [*a]", "not YAML|names no table"),
        ("table: cuda_majors\nrows: [" + "[" * 5000, "YAML|read"), ("!!python/object/apply:os.system ['true']", "not YAML"),
        ("table: [a]\n", "not a table|names no table"), ("x: 2026-99-99\n", "cannot be read|names no table"),
    ])
    def test_a_file(self, data: Path, text: str, what: str | None) -> None:
        if what is None:
            overlay("mine.yaml", text)
            assert floor(again()) == "525.60.13"
        else:
            assert any(each in problem("mine.yaml", text).what for each in what.split("|"))

    def test_not_utf8(self, data: Path) -> None:
        Path(overlay_folder()).mkdir(parents=True)
        Path(overlay_folder(), "mine.yaml").write_bytes(b"table: \xff\xfe\n")
        with pytest.raises(Problem):
            again()

    def test_a_key_twice_in_a_file(self, data: Path) -> None:
        found = problem("mine.yaml", MINE + MINE.splitlines()[-1] + "\n")
        assert "twice" in found.what and found.line == 5

    @pytest.mark.parametrize(("text", "what"), [
        ("name,pci_id\nX,2684,7\n", "not as many cells"), ('name,pci_id\n"X,2684\n', "CSV|end of a line"), ("name,pcid\nX,1\n", "'pcid'"),
        ("name,sm,source,date,confidence\nX,8.9,s,2026-01-01,stated\n", "whole number"), ("", None),
    ])
    def test_csv(self, data: Path, text: str, what: str | None) -> None:
        if what is None:
            overlay("gpus.csv", text)
            assert again().gpus
        else:
            assert any(each in problem("gpus.csv", text).what for each in what.split("|"))
            assert problem("gpus.csv", text).line in (0, 2)

    def test_what_is_no_data_file_is_left_alone(self, data: Path) -> None:
        folder = Path(overlay_folder())
        (folder / "sub").mkdir(parents=True)
        (folder / "notes.txt").write_text("table: [")
        (folder / ".mine.yaml.swp.yaml").write_text("table: [")
        (folder / "loop").symlink_to(folder)
        os.mkfifo(folder / "pipe.yaml")
        assert floor(again()) == "525.60.13"

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(st.binary(max_size=200), st.text(alphabet="{}[]:-,&*!|>%@\"'# \n\ttablerowsmajor0123.", max_size=120).map(str.encode)))
    def test_any_bytes_are_rows_or_a_problem(self, text: bytes) -> None:
        for name in ("mine.yaml", "gpus.csv"):
            try:
                read_rows(name, text)
            except Problem as found:
                assert found.what and found.file == name


class TestOverlay:
    """A user's own rows."""

    def test_marked_and_cited(self, data: Path) -> None:
        overlay("mine.yaml", MINE + '---\ntable: sources\nrows: [{id: my-lab, title: Our bench, where: room 3, date: "2026-12-01"}]\n')
        catalog = again()
        row = catalog.row("cuda_majors", "14")
        assert catalog.overlaid and catalog.from_overlay("cuda_majors", row)
        assert not catalog.from_overlay("cuda_majors", catalog.row("cuda_majors", "12"))
        assert catalog.cite(row) == "Our bench (room 3): [overlay mine.yaml]"
        assert catalog.cite(catalog.row("cuda_majors", "12")).endswith(">")
        assert not load(overlays=False).overlaid

    def test_replaces_and_the_last_file_wins(self, data: Path) -> None:
        overlay("a.yaml", MINE.replace('"14"', '"12"'))
        assert floor(again()) == "640.10"
        overlay("b.yaml", MINE.replace('"14"', '"12"').replace("640.10", "650.10"))
        catalog = again()
        assert floor(catalog) == "650.10"
        assert len([row for row in catalog.cuda_majors if row.major == "12"]) == 1
        assert floor(load(overlays=False)) == "525.60.13"

    def test_the_digest_is_of_it_too(self, data: Path) -> None:
        plain = again().digest
        overlay("mine.yaml", MINE)
        assert again().digest != plain
        assert load(overlays=False).digest == plain

    def test_a_gpu_of_ones_own(self, data: Path) -> None:
        overlay("gpu.yaml", 'table: gpus\nrows:\n  - {name: "NVIDIA GeForce RTX 7090", pci_id: "3f01", architecture: Rubin, sm: 107, '
                'gpu_class: geforce, open_modules: required, source: my-lab, date: "2026-12-01", confidence: stated}\n')
        assert [gpu.name for gpu in again().gpu("rtx7090")] == ["NVIDIA GeForce RTX 7090"]


class TestShipped:
    """The data files themselves."""

    def test_digest_is_of_the_bytes_alone(self) -> None:
        first = compile_tables(resources.compat_data(), None)
        second = compile_tables(resources.compat_data(), None)
        assert first["digest"] == second["digest"] and first["digest"].startswith("sha256:")

    def test_every_table_has_rows(self) -> None:
        catalog = load(overlays=False)
        assert [name for name in TABLES if not getattr(catalog, name)] == []

    def test_every_file_is_the_home_of_its_table(self) -> None:
        homes = {row[2] for row in TABLES.values()}
        folder = Path(resources.compat_data())
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            if path.suffix in (".yaml", ".csv") and name != "index.yaml":
                assert name in homes or name.split("/")[0] in ("sources", "rules"), name

    def test_the_readme_names_every_table_and_its_file(self) -> None:
        lines = [line for line in Path(resources.compat_data(), "README.md").read_text("utf-8").splitlines() if line.startswith("| `")]
        told = {line.split("|")[2].strip(): line.split("|")[1].split(",")[0].strip(" `") for line in lines}
        assert told == {name: row[2] for name, row in TABLES.items()}

    def test_the_readmes_example_is_an_overlay(self, data: Path) -> None:
        text = Path(resources.compat_data(), "README.md").read_text("utf-8")
        blocks = [part.split("```")[0] for part in text.split("```yaml\n")[1:]]
        overlay("mine.yaml", blocks[-1])
        assert [gpu.sm for gpu in again().gpu("Engineering Sample X")] == [120]
        assert read_rows("cuda_majors.yaml", blocks[0].encode())["cuda_majors"][0].major == "12"

    @pytest.mark.parametrize("table", sorted(TABLES))
    def test_rows_are_found_by_their_keys(self, table: str) -> None:
        catalog = load(overlays=False)
        for row in getattr(catalog, table):
            assert catalog.row(table, *(getattr(row, field) for field in TABLES[table][1])) is row

    def test_an_unknown_table(self) -> None:
        with pytest.raises(AttributeError):
            load(overlays=False).gpuz  # noqa: B018
