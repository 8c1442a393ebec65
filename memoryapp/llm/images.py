"""How large an image is, from the first bytes of its file and without decoding it."""

import base64
import binascii
import struct

# A JPEG tells its size after its metadata, which holds a thumbnail at most: 64 KB are one metadata segment.
_HEAD_CHARS = 4 * (80 * 1024 // 3)


def pixel_size(media_type: str, data: str) -> tuple[int, int] | None:
    """Width and height of the base64 ``data``, or None when its header is damaged, far away or unknown."""
    try:
        head = base64.b64decode(data[:_HEAD_CHARS])
        match media_type:
            case "image/png":
                return _png(head)
            case "image/gif":
                return _gif(head)
            case "image/webp":
                return _webp(head)
            case "image/jpeg":
                return _jpeg(head)
    except (binascii.Error, struct.error, ValueError):
        return None
    return None


def _png(head: bytes) -> tuple[int, int] | None:
    if not head.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    width, height = struct.unpack_from(">II", head, 16)
    return width, height


def _gif(head: bytes) -> tuple[int, int] | None:
    if not head.startswith((b"GIF87a", b"GIF89a")):
        return None
    width, height = struct.unpack_from("<HH", head, 6)
    return width, height


def _webp(head: bytes) -> tuple[int, int] | None:
    """The three ways a WebP begins: lossy, lossless, and extended with a canvas."""
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return None
    match head[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", head, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            # Two numbers of three bytes each.
            width, high_bits, height = struct.unpack_from("<HBI", head[:30] + b"\0", 24)
            return (width | high_bits << 16) + 1, (height & 0xFFFFFF) + 1
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """Walk the segments up to the frame header (SOF0 to SOF15 without DHT, JPG and DAC)."""
    if not head.startswith(b"\xff\xd8"):
        return None
    at = 2
    while True:
        marker, length = struct.unpack_from(">HH", head, at)
        if 0xFFC0 <= marker <= 0xFFCF and marker not in (0xFFC4, 0xFFC8, 0xFFCC):
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
        if marker < 0xFFC0 or length < 2:
            return None
        at += 2 + length
