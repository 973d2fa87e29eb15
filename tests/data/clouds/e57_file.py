"""A small E57 file, written by hand: no package that installs everywhere writes the format."""

from __future__ import annotations

import struct
from collections.abc import Sequence

PAGE, PAYLOAD = 1024, 1020
XML = """<?xml version="1.0" encoding="UTF-8"?>
<e57Root type="Structure" xmlns="http://www.astm.org/COMMIT/E57/2010-e57-v1.0">
<formatName type="String"><![CDATA[ASTM E57 3D Imaging Data File]]></formatName>
<guid type="String"><![CDATA[{{a}}]]></guid>
<versionMajor type="Integer">1</versionMajor><versionMinor type="Integer">0</versionMinor>
<data3D type="Vector" allowHeterogeneousChildren="1"><vectorChild type="Structure">
<guid type="String"><![CDATA[{{b}}]]></guid>
<pose type="Structure"><translation type="Structure"><x type="Float">{move[0]}</x>
<y type="Float">{move[1]}</y><z type="Float">{move[2]}</z></translation></pose>
<intensityLimits type="Structure"><intensityMinimum type="Float">0</intensityMinimum>
<intensityMaximum type="Float">1</intensityMaximum></intensityLimits>
<points type="CompressedVector" fileOffset="48" recordCount="{count}">
<prototype type="Structure"><cartesianX type="Float"/><cartesianY type="Float"/>
<cartesianZ type="Float"/><intensity type="Float"/></prototype>
<codecs type="Vector" allowHeterogeneousChildren="1"/></points>
</vectorChild></data3D></e57Root>
"""


def crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def physical(logical: int) -> int:
    """The place in the file of a byte of the content, among the checksums of pages."""
    return logical // PAYLOAD * PAGE + logical % PAYLOAD


def e57_file(
    points: Sequence[Sequence[float]],
    intensity: Sequence[float],
    move: Sequence[float] = (0.0, 0.0, 0.0),
) -> bytes:
    """A file of one scan at a pose, with as few points as fit into one packet."""
    streams = [struct.pack(f"<{len(points)}d", *column) for column in zip(*points, strict=True)]
    streams.append(struct.pack(f"<{len(points)}d", *intensity))
    sizes = struct.pack(f"<{len(streams)}H", *map(len, streams))
    length = 6 + len(sizes) + sum(map(len, streams))
    padding = -length % 4
    packet = struct.pack("<BBHH", 1, 0, length + padding - 1, len(streams))
    packet += sizes + b"".join(streams) + bytes(padding)
    section = struct.pack("<B7xQQQ", 1, 32 + len(packet), 48 + 32, 0) + packet
    xml = XML.format(count=len(points), move=move).encode()
    start = 48 + len(section)
    pages = -(-(start + len(xml)) // PAYLOAD)
    head = b"ASTM-E57" + struct.pack("<IIQQQQ", 1, 0, pages * PAGE, physical(start), len(xml), PAGE)
    content = (head + section + xml).ljust(pages * PAYLOAD, b"\0")
    return b"".join(
        page + struct.pack(">I", crc32c(page))
        for page in (content[i : i + PAYLOAD] for i in range(0, len(content), PAYLOAD))
    )
