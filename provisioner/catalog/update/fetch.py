"""Asking a server that may be slow, broken or hostile.

An answer has a size limit (of what it unpacks to), a time limit over all, a limit on redirects, and never a weaker protocol than
was asked for. What is no good raises `Broken`; a server that cannot be reached raises `Unreachable`.
"""

from __future__ import annotations

import re
import threading
import time
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from provisioner import __version__
from provisioner.catalog.update.places import shown

if TYPE_CHECKING:
    from collections.abc import Mapping


class Unreachable(Exception):
    """Nobody answered: no network, no such host, refused, too late."""


class Broken(Exception):
    """An answer came, and it is no good."""


class Answer(NamedTuple):
    """A whole answer."""

    url: str  # after redirects
    status: int
    type: str
    text: bytes


class Fetcher:
    """Fetches with limits. `seconds`: for one answer over all; `size`: bytes of one answer, unpacked."""

    def __init__(self, certificates: str = "", *, seconds: float = 60.0, size: int = 48 << 20, connect: float = 10.0, read: float = 20.0,
                 tries: int = 3, pause: float = 0.5) -> None:
        import requests

        self.seconds, self.size, self.waits, self.tries, self.pause = seconds, size, (connect, read), tries, pause
        self._requests = requests
        self._session = requests.Session()  # it honours the usual proxy variables and .netrc
        self._session.headers["User-Agent"] = f"provision/{__version__}"
        self._verify: str | None = certificates or None  # given with each request: the session's own gives way to the environment

    def get(self, url: str, headers: Mapping[str, str] | None = None, expect: str = "", missing: bool = False) -> Answer:
        """GET. expect: what has to be in the content type. missing: whether 404 is an answer (status 404, no text).

        Raises Unreachable or Broken, each with a reason fit to print."""
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise Broken(f"{shown(url)} is no address of a web server")
        for attempt in range(self.tries):
            try:
                answer = self._within(url, dict(headers or {}))
            except (Unreachable, _Again) as fault:
                if attempt + 1 == self.tries:
                    raise Unreachable(str(fault)) if isinstance(fault, Unreachable) else Broken(str(fault)) from None
                time.sleep(self.pause * 2**attempt)
                continue
            if answer.status == 404 and missing:
                return answer._replace(text=b"")
            if answer.status not in (200, 206):
                raise Broken(f"{shown(url)} answered with status {answer.status}")
            if expect and not any(each in answer.type for each in expect.split("|")):
                raise Broken(f"{shown(url)} sent {answer.type or 'something without a type'}, not {expect.replace('|', ' or ')}")
            return answer
        raise AssertionError("no try was made")

    def _within(self, url: str, headers: dict[str, str]) -> Answer:
        """One try, abandoned when it takes longer than all the time it has: a server can drip one byte at a time for ever."""
        told: list[Answer | BaseException] = []

        def work() -> None:
            try:
                told.append(self._once(url, headers))
            except BaseException as fault:  # handed over to the caller, whatever it is
                told.append(fault)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.seconds)
        if not told:
            raise Broken(f"{shown(url)} took longer than {self.seconds:g} s")
        if isinstance(told[0], BaseException):
            raise told[0]
        return told[0]

    def _once(self, url: str, headers: dict[str, str]) -> Answer:
        faults = self._requests.exceptions
        begun = time.monotonic()
        try:
            for _ in range(6):
                with self._session.get(url, headers={"Accept-Encoding": "gzip", **headers}, timeout=self.waits, stream=True,
                                       allow_redirects=False, verify=self._verify) as response:
                    if response.is_redirect:
                        following = urljoin(url, response.headers.get("location", ""))
                        if urlsplit(following).scheme not in ("http", "https") or \
                                (urlsplit(url).scheme == "https" and urlsplit(following).scheme != "https"):
                            raise Broken(f"{shown(url)} sends on to {shown(following)}, which is less safe")
                        url = following
                        continue
                    if response.status_code == 429 or response.status_code >= 500:
                        raise _Again(f"{shown(url)} answered with status {response.status_code}")
                    return Answer(url, response.status_code, response.headers.get("content-type", "").lower(),
                                  self._body(url, response, begun))
            raise Broken(f"{shown(url)} sends on and on")
        except faults.SSLError as fault:
            raise Broken(f"the certificate of {urlsplit(url).hostname} cannot be trusted: {_last(fault)}") from None
        except (faults.ConnectTimeout, faults.ReadTimeout):
            raise Unreachable(f"{urlsplit(url).hostname} did not answer in time") from None
        except faults.ProxyError as fault:
            raise Unreachable(f"the proxy does not let {urlsplit(url).hostname} through: {_last(fault)}") from None
        except faults.ConnectionError as fault:
            raise Unreachable(f"{urlsplit(url).hostname} cannot be reached: {_last(fault)}") from None
        except (faults.RequestException, OSError, ValueError) as fault:
            raise Broken(f"{shown(url)}: {_last(fault)}") from None

    def _body(self, url: str, response: Any, begun: float) -> bytes:
        """The answer's text, unpacked under the size limit: a small archive can hold an endless one."""
        packing = response.headers.get("content-encoding", "").lower()
        if packing not in ("", "identity", "gzip", "x-gzip"):
            raise Broken(f"{shown(url)} is packed as {packing}")
        unpack = zlib.decompressobj(31) if "gzip" in packing else None
        parts: list[bytes] = []
        length = received = 0
        try:
            while True:
                chunk = response.raw.read(1 << 16, decode_content=False)
                if not chunk:
                    break
                received += len(chunk)
                if unpack is not None:
                    chunk = unpack.decompress(chunk, self.size - length + 1)
                length += len(chunk)
                parts.append(chunk)
                if length > self.size or received > self.size:
                    raise Broken(f"{shown(url)} is larger than {self.size >> 20} MiB")
                if time.monotonic() - begun > self.seconds:
                    raise Broken(f"{shown(url)} took longer than {self.seconds:g} s")
        except zlib.error:
            raise Broken(f"{shown(url)} is damaged") from None
        except Broken:
            raise
        except Exception as fault:  # urllib3 has a family of its own for connections that end early
            raise _Again(f"{shown(url)} ended early: {_last(fault)}") from None
        if unpack is not None and not unpack.eof:
            raise _Again(f"{shown(url)} ended early")
        promised = response.headers.get("content-length", "")
        if promised.isdigit() and int(promised) != received:
            raise _Again(f"{shown(url)} ended early")
        return b"".join(parts)


class _Again(Exception):
    """An answer that may be better the next time."""


def _last(fault: BaseException) -> str:
    """The innermost reason of a nest of exceptions, without the objects it is about."""
    reason = getattr(fault, "reason", None)
    inner = reason if isinstance(reason, BaseException) else fault.args[0] if fault.args else None
    if isinstance(inner, BaseException):
        return _last(inner)
    text = re.sub(r"^(<[^>]*>|\w+\([^)]*\)): ", "", str(fault))
    return text.strip(" '\"")[:200] or type(fault).__name__
