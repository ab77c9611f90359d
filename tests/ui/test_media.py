"""Media by content: ranges, caching, types, and nothing but ids."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from storage.pictures import halved
from storage.store import Store
from ui.app import create_app
from ui.media import UnsatisfiableRange, parse_range


@pytest.fixture(scope="module")
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store), base_url="http://127.0.0.1") as opened:
        yield opened


@pytest.fixture(scope="module")
def video(client: TestClient, ids: dict[str, str]) -> str:
    return str(client.get(f"/api/episodes/{ids['first']}").json()["video"]["url"])


@pytest.mark.parametrize(
    ("header", "size", "expected"),
    [
        (None, 10, None),
        ("bytes=0-0", 10, (0, 1)),
        ("bytes=2-5", 10, (2, 6)),
        ("bytes=5-", 10, (5, 10)),
        ("bytes=5-99", 10, (5, 10)),
        ("bytes=-3", 10, (7, 10)),
        ("bytes=-99", 10, (0, 10)),
        ("bytes=5-2", 10, None),
        ("bytes=0-1,4-5", 10, None),
        ("bytes=-", 10, None),
        ("items=0-1", 10, None),
        ("bytes=a-b", 10, None),
    ],
)
def test_ranges_are_read_as_the_standard_says(header: str | None, size: int, expected: tuple[int, int] | None) -> None:
    assert parse_range(header, size) == expected


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_ranges_outside_the_bytes_are_unsatisfiable(header: str) -> None:
    with pytest.raises(UnsatisfiableRange):
        parse_range(header, 10)


def test_whole_video_has_the_hash_of_its_address(client: TestClient, video: str) -> None:
    answer = client.get(video)
    assert answer.status_code == 200
    assert hashlib.sha256(answer.content).hexdigest() == video.rsplit("/", 1)[-1]
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"] == f'"{video.rsplit("/", 1)[-1]}"'
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_ranges_are_the_same_bytes(client: TestClient, video: str) -> None:
    whole = client.get(video).content
    for header, expected in (("bytes=100-199", whole[100:200]), ("bytes=-50", whole[-50:]), ("bytes=7-", whole[7:])):
        part = client.get(video, headers={"Range": header})
        assert (part.status_code, part.content) == (206, expected)
        assert part.headers["content-length"] == str(len(expected))
    assert (
        client.get(video, headers={"Range": "bytes=100-199"}).headers["content-range"] == f"bytes 100-199/{len(whole)}"
    )
    beyond = client.get(video, headers={"Range": f"bytes={len(whole)}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(whole)}")


def test_head_has_the_headers_and_no_body(client: TestClient, video: str) -> None:
    head, whole = client.head(video), client.get(video)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]
    part = client.head(video, headers={"Range": "bytes=0-9"})
    assert (part.status_code, part.headers["content-length"]) == (206, "10")


def test_known_version_is_not_sent_again(client: TestClient, video: str) -> None:
    etag = client.head(video).headers["etag"]
    again = client.get(video, headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    stale = client.get(video, headers={"Range": "bytes=0-9", "If-Range": '"another"'})
    assert stale.status_code == 200, "a part of another version would be patched into the wrong file"


def test_evidence_frame_is_that_frame(client: TestClient, video: str) -> None:
    answer = client.get(f"{video}/frames/37")
    assert answer.headers["content-type"] == "image/jpeg"
    image = Image.open(io.BytesIO(answer.content)).convert("L")
    width, height = image.size
    bits = [image.getpixel((int((bit + 0.5) * width / 16), height - 4)) for bit in range(16)]
    assert sum(1 << i for i, value in enumerate(bits) if isinstance(value, int | float) and value > 128) == 37
    assert client.get(f"{video}/frames/121").status_code == 404
    assert client.get(f"{video}/frames/-1").status_code == 404
    assert client.get(f"{video}/frames/x").status_code == 422


def test_bytes_of_other_types_are_saved_and_never_rendered(client: TestClient, recorded: tuple[object, object]) -> None:
    page = b"<script>window.hacked=1</script>"
    with Store.open(str(recorded[0])) as writer:
        sha = writer.put_artifact(page, "text/html")
    answer = client.get(f"/media/{sha}")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")


def test_what_a_model_was_shown_is_served_whole_and_as_it_was_reminded_of_it(
    client: TestClient, ids: dict[str, str], store: Store
) -> None:
    pixels = store.picture(ids["shown"])
    for query, expected in (("", pixels), ("?half=1", halved(pixels))):
        answer = client.get(f"/media/{ids['shown']}{query}")
        assert answer.headers["content-type"] == "image/png"
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(answer.content))), expected)
    assert client.get(f"/media/{'0' * 64}?half=1").status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "..%2f..%2farena.db",
        "../arena.db",
        "%2e%2e/%2e%2e/etc/passwd",
        "%2fetc%2fpasswd",
        "0" * 64,
        "A" * 64,
        "0" * 63,
        "..%5c..%5carena.db",
        "file:%2f%2f%2fetc%2fpasswd",
        "0" * 64 + "%00",
        "",
    ],
)
def test_nothing_but_a_known_hash_is_served(client: TestClient, name: str) -> None:
    for path in (f"/media/{name}", f"/media/{name}/frames/0", f"/static/x/{name}"):
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert b"root:" not in answer.content
        assert b"SQLite" not in answer.content


def test_artifact_that_is_gone_is_told_apart_from_one_that_never_was(client: TestClient, ids: dict[str, str]) -> None:
    gone = client.get(f"/api/episodes/{ids['gone']}").json()["video"]["url"]
    answer = client.get(gone)
    assert answer.status_code == 410
    assert "missing" in answer.json()["detail"]
    assert client.get(f"{gone}/frames/0").status_code == 410
