"""`provision update` against a real server: answers of the recorded shape, broken ones and hostile ones."""

from __future__ import annotations

import gzip
import json
import os
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from provisioner.catalog.lint import lint
from provisioner.catalog.load import load, overlay_folder
from provisioner.catalog.sources import packages, redistrib
from provisioner.catalog.update import FILE, Report, update
from provisioner.catalog.update.fetch import Broken, Fetcher, Unreachable
from provisioner.catalog.update.places import places, shown

TODAY = "2027-03-01"
Reply = tuple[int, dict[str, str], bytes] | Callable[[BaseHTTPRequestHandler], None]


class Server:
    """A web server with answers by path."""

    def __init__(self, certificate: str = "") -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append((self.path, dict(self.headers)))
                reply = outer.replies.get(self.path, (404, {"Content-Type": "text/plain"}, b"no such page"))
                try:
                    if callable(reply):
                        reply(self)
                        return
                    status, headers, body = reply
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(body)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


def rows(text: str) -> list[str]:
    """The lines of an overlay in order, without which of several repositories said a thing."""
    return sorted(re.sub(r"(update-repositories|127.0.0.1): ?\w+", r"\1", line) for line in text.splitlines())


def page(body: str | bytes, kind: str = "text/html", **headers: str) -> Reply:
    """An ordinary answer."""
    return 200, {"Content-Type": kind, **headers}, body.encode() if isinstance(body, str) else body


def as_json(value: Any) -> Reply:
    return page(json.dumps(value), "application/json")


METADATA = """Metadata-Version: 2.4
Name: torch
Version: 2.16.0
Requires-Python: >=3.11
Requires-Dist: filelock
Requires-Dist: cuda-toolkit[cublas,cudart]==13.2.2; platform_system == "Linux"
Requires-Dist: nvidia-cudnn-cu13==9.26.0.51; platform_system == "Linux"
Requires-Dist: nvidia-nccl-cu13==2.30.7; platform_system == "Linux"
Requires-Dist: triton==3.9.0; platform_system == "Linux"
"""


def listing(server: Server, package: str, version: str, tags: list[str], requires: str = ">=3.11", yanked: bool = False) -> Reply:
    """A page of the package index with one release."""
    files = [{"filename": f"{package}-{version}-{tag}.whl", "url": f"{server.url}/files/{package}-{version}-{tag}.whl", "size": 1000,
              "upload-time": "2027-02-10T10:00:00.000000Z", "requires-python": requires, "yanked": yanked} for tag in tags]
    return page(json.dumps({"meta": {"api-version": "1.1"}, "name": package, "files": files}), "application/vnd.pypi.simple.v1+json")


TAGS = [f"cp{each}-cp{each}-{platform}" for each in ("312", "313") for platform in
        ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "win_amd64", "macosx_11_0_arm64")]


def stock(server: Server) -> None:
    """Answers of the shape that the sources were seen to give, with one new thing each."""
    replies = server.replies
    catalog = load(overlays=False)
    for name in {row.package for row in catalog.companions}:
        known = next(row.version for row in catalog.companions if row.package == name and not row.yanked)
        replies[f"/simple/{name}/"] = listing(server, name.replace("-", "_"), known, ["py3-none-any"])
    replies["/simple/torch/"] = listing(server, "torch", "2.16.0", TAGS)
    for tag in TAGS:
        replies[f"/files/torch-2.16.0-{tag}.whl.metadata"] = page(METADATA, "text/plain")
    replies["/simple/torchvision/"] = listing(server, "torchvision", "0.31.0", TAGS)
    for tag in TAGS:
        replies[f"/files/torchvision-0.31.0-{tag}.whl.metadata"] = page(
            "Metadata-Version: 2.1\nName: torchvision\nVersion: 0.31.0\nRequires-Dist: numpy\nRequires-Dist: torch==2.16.0\n", "text/plain")
    wheels = [f"torch-2.16.0%2B{build}-cp{each}-cp{each}-manylinux_2_28_x86_64.whl" for build in ("cu130", "cu132", "cpu")
              for each in ("312", "313")] + ["torch-2.16.0%2Brocm7.1-cp312-cp312-manylinux_2_28_x86_64.whl"]
    replies["/whl/torch/"] = page("<!DOCTYPE html><html><body><h1>Links for torch</h1>" + "".join(
        f'<a href="/whl/{name}#sha256=00" data-dist-info-metadata="sha256=00">{name.replace("%2B", "+")}</a><br/>' for name in wheels)
        + "</body></html>")
    replies["/compute/cuda/redist/"] = page('<a href="redistrib_13.5.0.json">a</a> <a href="redistrib_13.5.1.json">b</a>')
    replies["/compute/cuda/redist/redistrib_13.5.1.json"] = as_json({
        "release_date": "2027-01-20", "release_label": "13.5.1", "release_product": "cuda",
        "cuda_cudart": {"name": "CUDA Runtime (cudart)", "license": "CUDA Toolkit", "version": "13.5.77", "linux-x86_64": {}},
        "cuda_nvcc": {"name": "CUDA NVCC", "license": "CUDA Toolkit", "version": "13.5.78", "linux-x86_64": {}},
        "nvidia_driver": {"name": "NVIDIA Linux Driver", "license": "NVIDIA Driver", "version": "620.80.02", "linux-x86_64": {}}})
    replies["/compute/cudnn/redist/"] = page('<a href="redistrib_9.77.0.json">a</a>')
    replies["/compute/cudnn/redist/redistrib_9.77.0.json"] = as_json({
        "release_date": "2027-02-02", "release_label": "9.77.0", "release_product": "cudnn",
        "cudnn": {"name": "NVIDIA CUDA Deep Neural Network library", "version": "9.77.0.11", "cuda_variant": ["12", "13"],
                  "linux-x86_64": {"cuda12": {}, "cuda13": {}}, "linux-sbsa": {"cuda13": {}}, "windows-x86_64": {"cuda13": {}}}})
    text = "".join(f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nDescription: something\n more of it\n\n" for name, version in (
        ("cuda-drivers-580", "580.199.03-1ubuntu1"), ("nvidia-open-580", "580.199.03-1ubuntu1"), ("cuda-drivers", "699.10.01-1"),
        ("libnccl2", "2.39.1-1+cuda13.2"), ("cuda-toolkit-13-5", "13.5.1-1")))
    for system in ("ubuntu2604", "ubuntu2404", "ubuntu2204", "debian13", "debian12", "debian11"):
        replies[f"/compute/cuda/repos/{system}/x86_64/Packages.gz"] = page(gzip.compress(text.encode()), "application/gzip")


@pytest.fixture()
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's data folder of its own."""
    monkeypatch.setenv("PROVISION_DATA_HOME", str(tmp_path / "data"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture()
def server() -> Iterator[Server]:
    made = Server()
    stock(made)
    yield made
    made.close()


def environment(server: Server) -> dict[str, str]:
    return {"PROVISION_PACKAGE_INDEX": f"{server.url}/simple/", "PROVISION_PYTORCH_INDEX": f"{server.url}/whl",
            "PROVISION_NVIDIA_DOWNLOADS": f"{server.url}/compute"}


def fetcher(**limits: Any) -> Fetcher:
    return Fetcher(**{"seconds": 4.0, "connect": 2.0, "read": 2.0, "tries": 2, "pause": 0.01, "size": 4 << 20, **limits})


def run(server: Server, check: bool = False, **limits: Any) -> Report:
    return update(check, environment=environment(server), today=TODAY, fetcher=fetcher(**limits))


class TestGoodAnswers:
    """What is new becomes rows, and rows that the linters pass."""

    def test_everything_new_is_taken_up(self, home: Path, server: Server) -> None:
        report = run(server)
        assert [each.state for each in report.asked] == ["ok"] * 5, report.asked
        assert report.refused == () and report.status == 0
        assert report.written == str(Path(overlay_folder(), FILE))
        catalog = load()
        row = catalog.row("torch_releases", "2.16.0")
        assert (row.released, row.requires_python) == ("2027-02-10", ">=3.11")
        build = catalog.row("torch_builds", "2.16.0", "cu132", "linux_x86_64", "pip")
        assert (build.cuda, build.toolkit, build.pythons, build.glibc, build.default) == ("13.2", "13.2.2", ("3.12", "3.13"), "2.28", True)
        assert build.index_url == "https://download.pytorch.org/whl/cu132"
        assert catalog.row("torch_builds", "2.16.0", "cpu", "win_amd64", "pip").default
        other = catalog.row("torch_builds", "2.16.0", "cu130", "linux_x86_64", "pip")
        assert (other.default, other.file_pattern) == (False, "torch-2.16.0+cu130-cp{py}-cp{py}-manylinux_2_28_x86_64.whl")
        assert catalog.row("torch_builds", "2.16.0", "rocm7.1", "linux_x86_64", "pip") is None
        pin = catalog.row("torch_pins", "2.16.0", "cu132", "linux_x86_64", "pip")
        assert (pin.cudnn, pin.nccl, pin.triton) == ("9.26.0.51", "2.30.7", "3.9.0")
        assert catalog.row("companions", "torchvision", "0.31.0").torch == "==2.16.0"
        toolkit = catalog.row("toolkits", "13.5.1")
        assert (toolkit.branch, toolkit.bundled_linux, toolkit.label, toolkit.released) == ("620", "620.80.02", "13.5 Update 1", "2027-01-20")
        assert catalog.row("components", "13.5.1", "cuda_nvcc").version == "13.5.78"
        cudnn = catalog.row("cudnn", "9.77.0.11", "13")
        assert (cudnn.platforms, cudnn.min_driver_linux, cudnn.min_sm) == (("linux_aarch64", "linux_x86_64", "win_amd64"), "580.65.06", None)
        assert catalog.row("driver_releases", "580.199.03", "linux").branch == "580"
        assert catalog.row("driver_branches", "580").latest == "580.199.03"
        assert catalog.row("nccl", "2.39.1").suffixes == ("13.2",)

    def test_new_rows_are_marked_and_pass_the_linters(self, home: Path, server: Server) -> None:
        run(server)
        catalog = load()
        assert catalog.overlaid
        assert catalog.from_overlay("torch_releases", catalog.row("torch_releases", "2.16.0"))
        assert not catalog.from_overlay("torch_releases", catalog.row("torch_releases", "2.15.0"))
        assert catalog.source(catalog.row("toolkits", "13.5.1").source).id == "update-cuda"
        assert catalog.digest != load(overlays=False).digest
        assert [each.text for each in lint(catalog).findings] == [each.text for each in lint(load(overlays=False)).findings]

    def test_a_second_time_nothing_is_new(self, home: Path, server: Server) -> None:
        first = run(server)
        before = Path(first.written).read_bytes()
        second = run(server)
        assert second.fresh == () and second.written == "" and second.last == TODAY
        assert Path(first.written).read_bytes() == before
        assert "Nothing new." in second.text("en") and "没有新内容" in second.text("zh")

    def test_check_says_how_stale_and_writes_nothing(self, home: Path, server: Server) -> None:
        report = run(server, check=True)
        assert report.status == 4 and report.age == 91
        assert not Path(overlay_folder()).exists()
        assert "91 days old" in report.text("en") and "torch_releases: 1 (2.16.0)" in report.text("en")
        assert {each["table"] for each in report.document()["new"]} >= {"torch_releases", "toolkits", "cudnn", "driver_releases", "nccl"}

    def test_what_needs_a_person_is_said(self, home: Path, server: Server) -> None:
        assert any("699.10.01" in note for note in run(server, check=True).notes)

    def test_a_users_own_rows_stay_and_have_the_last_word(self, home: Path, server: Server) -> None:
        folder = Path(overlay_folder())
        folder.mkdir(parents=True)
        own = folder / "mine.yaml"
        own.write_text('---\ntable: sources\nrows: [{id: mine, title: My lab, where: a note, date: "2027-01-01"}]\n---\ntable: toolkits\nrows:\n'
                       '  - {version: "13.5.1", label: "13.5 Update 1", released: "2027-01-21", branch: "620", source: mine, '
                       'date: "2027-01-01", confidence: stated}\n')
        text = own.read_bytes()
        run(server)
        assert own.read_bytes() == text
        assert load().row("toolkits", "13.5.1").released == "2027-01-21"

    def test_progress_goes_to_its_end(self, home: Path, server: Server) -> None:
        told: list[tuple[int, int]] = []
        update(True, lambda done, total, what: told.append((done, total)), environment=environment(server), today=TODAY, fetcher=fetcher())
        assert [done for done, _ in told] == list(range(told[0][1] + 1))

    def test_a_yanked_companion(self, home: Path, server: Server) -> None:
        server.replies["/simple/torchvision/"] = listing(server, "torchvision", "0.22.1", TAGS, yanked=True)
        run(server)
        assert load().row("companions", "torchvision", "0.22.1").yanked


def _redirects(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", handler.path)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def _huge(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.end_headers()
    for _ in range(4096):
        handler.wfile.write(b"<a>" * 4096)


def _drip(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html")
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b"a")
        handler.wfile.flush()
        time.sleep(0.1)


def _silent(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(8)


def _short(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"release_date": "2027-01-01"')
    handler.close_connection = True


def _abrupt(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


BOMB = gzip.compress(b"\0" * (64 << 20))
HOSTILE: dict[str, Reply] = {
    "redirects": _redirects, "huge": _huge, "drip": _drip, "silent": _silent, "short": _short, "abrupt": _abrupt,
    "bomb": page(BOMB, "text/html", **{"Content-Encoding": "gzip"}),
    "half a gzip": page(BOMB[:2000], "application/json", **{"Content-Encoding": "gzip"}),
    "not a gzip": page("<a href='redistrib_13.5.9.json'>", "application/json", **{"Content-Encoding": "gzip"}),
    "packed otherwise": page("x", "application/json", **{"Content-Encoding": "br"}),
    "error page": page("<html><h1>We'll be back soon</h1></html>"),
    "error": (503, {"Content-Type": "text/html"}, b"overloaded"),
    "forbidden": (403, {"Content-Type": "text/html"}, b"no"),
    "empty": page("", "application/json"),
    "other json": as_json(["what", {"is": "this"}]),
    "null": page("null", "application/json"),
    "deep json": page("[" * 100_000, "application/json"),
    "not text": page(b"\xff\xfe\x00\x80" * 400, "application/json"),
    "other files": page('{"files": [{"filename": 7, "url": null}]}', "application/vnd.pypi.simple.v1+json"),
}
TARGETS = {"update-packages": "/simple/torch/", "update-pytorch": "/whl/torch/", "update-cuda": "/compute/cuda/redist/redistrib_13.5.1.json",
           "update-cudnn": "/compute/cudnn/redist/", "update-repositories": "/compute/cuda/repos/ubuntu2604/x86_64/Packages.gz"}


class TestBadAnswers:
    """A broken or hostile answer changes nothing of what that source gave before, and is told."""

    @pytest.fixture(scope="class")
    @classmethod
    def good(cls, tmp_path_factory: pytest.TempPathFactory) -> str:
        """What an update with good answers writes."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PROVISION_DATA_HOME", str(tmp_path_factory.mktemp("good")))
            made = Server()
            stock(made)
            text = Path(run(made).written).read_text()
            made.close()
        return text

    @pytest.mark.parametrize(("kind", "source"), [(kind, sorted(TARGETS)[number % 5]) for number, kind in enumerate(sorted(HOSTILE))])
    def test_the_source_is_left_as_it_was(self, home: Path, server: Server, good: str, source: str, kind: str) -> None:
        place = Path(overlay_folder(), FILE)
        place.parent.mkdir(parents=True)
        place.write_text(good)
        server.replies[TARGETS[source]] = HOSTILE[kind]
        report = run(server, seconds=1.2, read=0.6, tries=1)
        state = {each.id: (each.state, each.because) for each in report.asked}
        assert state[source][0] in ("broken", "offline") and state[source][1]
        assert all(told[0] == "ok" for name, told in state.items() if name != source), state
        assert report.status == 4
        assert "Traceback" not in report.text("en") and "object at" not in state[source][1]
        assert rows(place.read_text()) == rows(good)

    def test_a_first_update_with_everything_broken_writes_nothing(self, home: Path, server: Server) -> None:
        for path in list(server.replies):
            server.replies[path] = HOSTILE["error page"]
        report = run(server)
        assert report.new == () and report.written == "" and report.status == 4
        assert not Path(overlay_folder(), FILE).exists()

    def test_offline_says_so(self, home: Path, server: Server) -> None:
        url = server.url
        server.close()
        gone = {"PROVISION_PACKAGE_INDEX": url, "PROVISION_PYTORCH_INDEX": url, "PROVISION_NVIDIA_DOWNLOADS": url}
        report = update(environment=gone, today=TODAY, fetcher=fetcher(tries=1))
        assert {each.state for each in report.asked} == {"offline"} and report.status == 4
        assert "This machine is offline" in report.text("en") and "离线" in report.text("zh")
        assert all("refused" in each.because for each in report.asked)

    def test_rows_that_the_linters_refuse_are_left_out_and_told(self, home: Path, server: Server) -> None:
        reply = server.replies["/compute/cuda/redist/redistrib_13.5.1.json"]
        assert isinstance(reply, tuple)
        told = json.loads(reply[2])
        told["nvidia_driver"]["version"] = "550.54.14"  # a branch that does not serve CUDA 13.5
        server.replies["/compute/cuda/redist/redistrib_13.5.1.json"] = as_json(told)
        report = run(server)
        assert [what for what, _ in report.refused] == ["cuda 13.5.1"] and report.status == 4
        assert load().row("toolkits", "13.5.1") is None
        assert load().row("components", "13.5.1", "cuda_nvcc") is None
        assert load().row("torch_releases", "2.16.0") is not None
        assert "left out: cuda 13.5.1" in report.text("en")

    def test_a_build_for_a_cuda_without_driver_is_refused(self, home: Path, server: Server) -> None:
        server.replies["/whl/torch/"] = page('<a href="torch-2.15.0%2Bcu199-cp312-cp312-manylinux_2_28_x86_64.whl">x</a>')
        report = run(server)
        assert [what for what, _ in report.refused] == ["torch 2.15.0 cu199"]

    def test_text_in_answers_stays_text(self, home: Path, server: Server) -> None:
        nasty = '>=3.11", evil: !!python/object/apply:os.system ["true"]}\n---\n'
        server.replies["/simple/torchvision/"] = listing(server, "torchvision", "0.31.0", TAGS, requires=nasty)
        report = run(server)
        assert load().row("companions", "torchvision", "0.31.0") is None  # no version range: a linter or a parser refuses it
        assert report.status == 4

    def test_a_folder_that_cannot_be_written(self, home: Path, server: Server) -> None:
        from provisioner.errors import Problem

        (home / "data").write_text("a file where a folder should be")
        with pytest.raises(Problem, match="cannot write"):
            run(server)

    def test_a_broken_overlay_of_the_last_update_is_made_anew(self, home: Path, server: Server) -> None:
        folder = Path(overlay_folder())
        folder.mkdir(parents=True)
        (folder / FILE).write_text("table: [")
        assert run(server).status == 0
        assert load().row("torch_releases", "2.16.0") is not None


class TestFetcher:
    """Limits of a single question."""

    @pytest.mark.parametrize("kind", sorted(set(HOSTILE) - {"error page", "empty", "other json", "null", "deep json", "not text", "other files"}))
    def test_what_is_no_answer_is_a_fault_with_a_reason(self, home: Path, server: Server, kind: str) -> None:
        server.replies["/"] = HOSTILE[kind]
        begun = time.monotonic()
        with pytest.raises((Broken, Unreachable)) as caught:
            fetcher(seconds=1.2, read=0.6, tries=1, size=1 << 20).get(server.url + "/")
        assert str(caught.value) and "object at" not in str(caught.value)
        assert time.monotonic() - begun < 30  # not a speed test: without limits it would never end

    def test_tries_again_after_an_error(self, home: Path, server: Server) -> None:
        left = [503, 503]

        def sometimes(handler: BaseHTTPRequestHandler) -> None:
            body = b"well"
            handler.send_response(left.pop() if left else 200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        server.replies["/now-and-then"] = sometimes
        assert fetcher(tries=3).get(server.url + "/now-and-then").text == b"well"

    def test_follows_a_redirect(self, home: Path, server: Server) -> None:
        server.replies["/old"] = (301, {"Location": "/new", "Content-Length": "0"}, b"")
        server.replies["/new"] = page("here")
        answer = fetcher().get(server.url + "/old")
        assert (answer.text, answer.url) == (b"here", server.url + "/new")

    @pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://x/"])
    def test_never_to_another_kind_of_place(self, home: Path, server: Server, target: str) -> None:
        server.replies["/old"] = (302, {"Location": target, "Content-Length": "0"}, b"")
        with pytest.raises(Broken, match="less safe"):
            fetcher().get(server.url + "/old")

    def test_a_certificate_that_nobody_signed(self, home: Path) -> None:
        safe = Server(str(Path(__file__).parent / "data" / "self-signed.pem"))
        safe.replies["/"] = page("secret")
        try:
            with pytest.raises(Broken, match=r"certificate of 127\.0\.0\.1 cannot be trusted"):
                fetcher().get(safe.url + "/")
            own = Fetcher(str(Path(__file__).parent / "data" / "self-signed.pem"), tries=1)
            assert own.get(safe.url + "/").text == b"secret"
            safe.replies["/down"] = (302, {"Location": "http://127.0.0.1/", "Content-Length": "0"}, b"")
            with pytest.raises(Broken, match="less safe"):
                own.get(safe.url + "/down")
        finally:
            safe.close()

    def test_goes_through_the_proxy(self, home: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", server.url)
        monkeypatch.setenv("no_proxy", "")
        server.replies["http://packages.example/simple/"] = page("by proxy")
        assert fetcher().get("http://packages.example/simple/").text == b"by proxy"

    def test_a_host_that_does_not_exist(self, home: Path) -> None:
        with pytest.raises(Unreachable, match=r"cannot be reached|did not answer"):
            fetcher(tries=1).get("http://no-such-host.invalid/")

    def test_says_who_it_is_and_nothing_of_the_machine(self, home: Path, server: Server) -> None:
        server.replies["/"] = page("x")
        fetcher().get(server.url + "/")
        agent = server.asked[-1][1]["User-Agent"]
        assert agent.startswith("provision/") and agent.count("/") == 1


class TestPlaces:
    """Where to ask."""

    def test_the_clients_own_index(self, tmp_path: Path) -> None:
        pip = tmp_path / "pip.conf"
        pip.write_text("[global]\nindex-url = https://user:word@packages.example/simple/\ncert = /no/such/file\n")
        told = places({"PIP_CONFIG_FILE": str(pip), "HOME": str(tmp_path)})
        assert told.packages == "https://user:word@packages.example/simple"
        assert told.certificates == ""
        assert shown(told.packages) == "https://packages.example/simple"

    def test_the_environment_goes_before_the_file(self, tmp_path: Path) -> None:
        pip = tmp_path / "pip.conf"
        pip.write_text("[global]\nindex-url = https://one.example/simple\n")
        told = {"PIP_CONFIG_FILE": str(pip), "HOME": str(tmp_path), "PIP_INDEX_URL": "https://two.example/simple"}
        assert places(told).packages == "https://two.example/simple"
        assert places({**told, "PROVISION_PACKAGE_INDEX": "https://three.example/simple"}).packages == "https://three.example/simple"

    def test_else_what_pip_itself_would_ask(self, tmp_path: Path) -> None:
        from pip._internal.models.index import PyPI

        assert places({"PIP_CONFIG_FILE": os.devnull, "HOME": str(tmp_path)}).packages == PyPI.simple_url.rstrip("/")


class TestParsers:
    """The pure readers."""

    def test_package_list(self) -> None:
        text = "Package: libnccl2\nVersion: 2.26.2-1+cuda12.8\nDescription: x\n y\n\nPackage: cuda-drivers-570\nVersion: 570.124.06-0ubuntu1\n"
        entries = list(packages.entries(text))
        assert packages.nccl(entries) == {"2.26.2": ["12.8"]}
        assert packages.drivers(entries) == ["570.124.06"]

    @pytest.mark.parametrize("text", ["<html>", "", "no colon here\n", "Package: x\n"])
    def test_no_package_list(self, text: str) -> None:
        with pytest.raises(ValueError):
            list(packages.entries(text))

    @pytest.mark.parametrize("change", [{"release_label": "13.5.2"}, {"release_product": "cudnn"}, {"release_date": "soon"},
                                        {"nvidia_driver": {}}, {"cuda_nvcc": {"version": "../../x"}}])
    def test_a_manifest_of_something_else(self, change: dict[str, Any]) -> None:
        right = {"release_date": "2027-01-20", "release_label": "13.5.1", "release_product": "cuda", "cuda_nvcc": {"version": "13.5.78"},
                 "nvidia_driver": {"version": "620.80.02"}}
        assert redistrib.toolkit(json.dumps(right), "13.5.1", "update-cuda", TODAY)[0].branch == "620"
        with pytest.raises(ValueError):
            redistrib.toolkit(json.dumps({**right, **change}), "13.5.1", "update-cuda", TODAY)
