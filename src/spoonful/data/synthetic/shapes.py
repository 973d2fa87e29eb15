"""The recipes: for every category, a function from random numbers to a solid.

Units are arbitrary (the corpus is scaled to the unit sphere), z is up. Two rules keep the shapes
good for registration. No shape is symmetric, so that the pose is unique. Parts overlap or stay
apart by a little, and never share a face.
"""

from __future__ import annotations

from collections.abc import Callable

from spoonful.data.synthetic.chance import Sampler
from spoonful.data.synthetic.solids import (
    Corner,
    Part,
    Point,
    Solid,
    arc,
    ball,
    box,
    circle,
    cylinder,
    prism,
    revolve,
    ring,
    tube,
)

Recipe = Callable[[Sampler], Solid]


def around(part: Part, count: int, start: float = 0.0) -> list[Part]:
    """Copies of a part in a circle about the z axis, the first turned by `start` degrees."""
    return [part.turn("z", start + 360.0 * k / count) for k in range(count)]


def _cog(count: int, low: float, high: float, duty: float) -> list[Corner]:
    """The outline of a wheel with teeth of the radius `high` over `duty` of the circumference."""
    outline = []
    slope = min(0.12, 0.4 * (1 - duty))
    for tooth in range(count):
        for step, r in ((-slope, low), (0.0, high), (duty, high), (duty + slope, low)):
            c, s = circle((tooth + step) / count)
            outline.append((r * c, r * s))
    return outline


def _hoop(inner: float, outer: float, height: float) -> Part:
    """A ring with a rectangular section."""
    half = height / 2
    return revolve([(inner, -half), (outer, -half), (outer, half), (inner, half)])


def airplane(d: Sampler) -> Solid:
    """A fuselage with swept wings, engines and a tail."""
    length, radius, span = d(2.4, 3.4), d(0.16, 0.26), d(1.1, 1.7)
    root, sweep, tip = d(0.45, 0.7), d(0.2, 0.7), d(0.15, 0.3)
    wing = [(root / 2, 0.0), (-sweep, span), (-sweep - tip, span), (-root / 2, 0.0)]
    wing += [(x, -y) for x, y in wing[2:0:-1]]
    fin = [(0.3, -0.2), (-0.1, 0.45 + d(0, 0.25)), (-0.35, 0.5), (-0.3, -0.2)]
    tail = -length / 2 + 0.35
    parts = [
        ball(radius, length / 2 / radius).turn("y", 90),
        prism(wing, 0.05).at(d(0.0, 0.2), 0, d(-0.08, 0.05)),
        prism([(0.4 * x, 0.35 * y) for x, y in wing], 0.04).at(tail, 0, 0.08),
        prism(fin, 0.045).turn("x", 90).at(tail, 0, 0.2),
    ]
    for place in range(1, d.integer(1, 2) + 1):
        y = span * (0.15 + 0.25 * place)
        engine = cylinder(d(0.06, 0.1), d(0.35, 0.5)).turn("y", 90)
        x = -sweep * y / span + 0.1
        parts += [engine.at(x, side * y, -0.1) for side in (-1, 1)]
    return Solid(parts)


def barrel(d: Sampler) -> Solid:
    """Staves around a belly, two hoops, and a tap near the bottom."""
    radius, bulge, height = d(0.55, 0.7), d(1.1, 1.25), d(1.0, 1.4)
    side = [
        (radius * (1 + (bulge - 1) * (1 - 4 * t * t)), height * t)
        for t in (-0.5, -0.25, 0, 0.25, 0.5)
    ]
    stave = tube([(r + 0.01, 0.0, z) for r, z in side], d(0.05, 0.07))
    tap: list[Point] = [(0.0, 0.0, 0.0), (0.22, 0.0, 0.0), (0.28, 0.0, -0.12)]
    return Solid(
        [
            revolve([(0.0, side[0][1]), *side, (0.0, side[-1][1])]),
            *around(stave, d.integer(11, 15)),
            ring(side[1][0] + 0.03, 0.05).at(0, 0, side[1][1]),
            ring(side[3][0] + 0.03, 0.05).at(0, 0, side[3][1]),
            tube(tap, 0.06, 0.045).at(side[1][0], 0, -0.37 * height),
            box(0.04, 0.22, 0.05).at(side[1][0] + 0.15, 0, -0.37 * height + 0.09),
        ],
        cuts=[cylinder(radius * 0.88, 0.1).at(0, 0, height / 2)],
    )


def bearing(d: Sampler) -> Solid:
    """Balls between two rings, and a mounting ear."""
    outer, wall, depth, count = d(0.9, 1.1), d(0.1, 0.15), d(0.3, 0.45), d.integer(10, 14)
    track, inner = outer * 0.72, outer * d(0.42, 0.5)
    ear = d(0.2, 0.26)
    return Solid(
        [
            _hoop(outer - wall, outer, depth),
            _hoop(inner - wall * 0.6, inner, depth * 1.3).at(0, 0, 0.05),
            *around(ball(track * 0.19).at(track, 0, 0), count),
            _hoop(track - 0.04, track + 0.04, 0.08),
            box(ear, 0.22, depth * 0.5).at(outer + ear / 2 - 0.05, 0, -0.1),
        ],
        cuts=[cylinder(0.06, depth).at(outer + 0.6 * ear, 0, -0.1)],
    )


def birdcage(d: Sampler) -> Solid:
    """Bars in a ring that close above, a floor, a perch and a door."""
    radius, height, count = d(0.55, 0.7), d(0.8, 1.1), d.integer(11, 15)
    bar: list[Point] = [(radius, 0.0, 0.0), (radius, 0.0, height)]
    bar += [(x, 0.0, height + 0.8 * z) for x, z in arc(radius, 15, 85, 6)]
    return Solid(
        [
            cylinder(radius + 0.06, 0.12),
            *around(tube(bar, 0.035), count),
            ring(radius, 0.045).at(0, 0, 0.55 * height),
            ring(0.1, 0.03).turn("x", 90).at(0, 0, height + 0.8 * radius + 0.1),
            cylinder(0.04, radius).turn("y", 90).at(radius / 2, 0, d(0.3, 0.45) * height),
            box(0.16, 0.24, 0.3).at(radius, 0, d(0.22, 0.3) * height),
        ]
    )


def bracket(d: Sampler) -> Solid:
    """Two plates at a right angle, stiffened by a gusset, with bolt holes."""
    width, foot, rise, thick = d(0.7, 1.2), d(0.9, 1.4), d(0.9, 1.6), d(0.08, 0.14)
    gusset, hole = d(0.45, 0.8), d(0.07, 0.11)
    rib = [(-0.3 * gusset, -0.3 * gusset), (0.7 * gusset, -0.3 * gusset)]
    rib += [(-0.3 * gusset, 0.7 * gusset)]
    shift = 0.3 * gusset + 0.4 * thick
    cuts = [
        cylinder(hole, 0.3).at(foot * f, width * d(0.2, 0.3) * s, 0)
        for f, s in ((0.75, 1), (0.75, -1))
    ]
    cuts += [cylinder(hole * 1.3, 0.3).turn("y", 90).at(0, width * d(-0.25, 0.25), 0.8 * rise)]
    return Solid(
        [
            box(foot, width, thick).at(foot / 2 - thick / 2, 0, 0),
            box(thick, width * 0.96, rise).at(0, 0, rise / 2),
            prism(rib, d(0.06, 0.1)).turn("x", 90).at(shift, width * d(-0.35, -0.1), shift),
            cylinder(hole * 2.2, thick * 1.6).at(0.4 * foot, 0.3 * width, 0.2 * thick),
        ],
        cuts,
    )


def cake(d: Sampler) -> Solid:
    """Two layers with candles around, less a slice."""
    radius, low, high = d(0.8, 1.0), d(0.3, 0.4), d(0.25, 0.35)
    count, upper = d.integer(10, 14), radius * d(0.7, 0.8)
    candle = cylinder(0.045, d(0.25, 0.4)).at(upper * 0.85, 0, low / 2 + high + 0.1)
    cream = ball(0.09).at(radius * 0.98, 0, low / 2 - 0.02)
    half = d(9, 14)
    (ax, ay), (bx, by) = arc(1.4, -half, half, 1)
    # A wedge from just behind the middle, seen from its own centroid.
    wedge = [(-0.9, 0.0), (ax - 0.9, ay), (bx - 0.9, by)]
    return Solid(
        [
            cylinder(radius, low),
            cylinder(upper, high).at(0, 0, (low + high) / 2 - 0.01),
            *around(candle, count),
            *around(cream, count, 360 / count / 2),
        ],
        cuts=[prism(wedge, 1.5).at(0.9 + 0.1, 0, 0.5)],
    )


def carousel(d: Sampler) -> Solid:
    """Poles with seats under a pointed roof, and steps up to it."""
    radius, height, count = d(0.8, 1.0), d(0.7, 0.9), d.integer(10, 13)
    pole = cylinder(0.03, height).at(radius * 0.85, 0, height / 2)
    seat = box(0.14, 0.22, 0.2).at(radius * 0.85, 0, height * d(0.35, 0.5))
    return Solid(
        [
            cylinder(radius, 0.12),
            cylinder(0.2, height).at(0, 0, height / 2),
            cylinder(radius * 1.05, d(0.35, 0.5), 0.1).at(0, 0, height + 0.2),
            *around(pole, count),
            *around(seat, count),
            box(0.36, 0.36, 0.14).at(radius + 0.14, 0, -0.03),
            cylinder(0.05, 0.4).at(0, 0, height + 0.5),
        ]
    )


def castle(d: Sampler) -> Solid:
    """A round tower with battlements and slits, a gate and a flag."""
    radius, height, count = d(0.55, 0.7), d(0.9, 1.3), d.integer(9, 13)
    merlon = box(0.16, 0.16, 0.2).at(radius, 0, height / 2 + 0.16)
    slit = box(0.3, 0.07, 0.24).at(radius, 0, d(0.05, 0.2) * height)
    gate = d(0.3, 0.38)
    return Solid(
        [
            cylinder(radius * 1.1, height, radius),
            cylinder(radius + 0.1, 0.16).at(0, 0, height / 2),
            *around(merlon, count),
            box(0.3, 0.28, gate).at(radius + 0.05, 0, gate / 2 - height / 2 + 0.02),
            tube([(0, 0, 0), (0, 0, 0.5)], 0.03).at(-0.2, 0, height / 2),
            box(0.25, 0.03, 0.14).at(-0.08, 0, height / 2 + 0.4),
        ],
        cuts=[
            cylinder(radius * 0.85, 0.3).at(0, 0, height / 2 + 0.1),
            *around(slit, count, 180 / count),
            box(0.3, 0.16, gate * 0.7).at(radius + 0.2, 0, gate * 0.35 - height / 2),
        ],
    )


def chair(d: Sampler) -> Solid:
    """Four legs, a seat, a back of slats or one panel, and an arm or two."""
    width, depth, height, back = d(0.8, 1.1), d(0.8, 1.0), d(0.7, 1.0), d(0.8, 1.3)
    thick, lean = d(0.05, 0.1), d(3, 15)
    parts = [box(width, depth, thick).at(0, 0, height)]
    for x in (-0.43 * width, 0.43 * width):
        for y in (-0.43 * depth, 0.43 * depth):
            leg = (
                cylinder(d(0.03, 0.04), height, 0.05) if d.chance(0.5) else box(0.08, 0.08, height)
            )
            parts.append(leg.at(x, y, height / 2))
    if d.chance(0.5):
        rests = [box(width * 0.9, 0.06, back).at(0, 0, back / 2)]
    else:
        slats = d.integer(3, 5)
        rests = [box(width * 0.96, 0.07, 0.14).at(0, 0, back)]
        for k in range(slats):
            x = width * 0.8 * (k / (slats - 1) - 0.5)
            rests.append(box(0.07, 0.05, back).at(x, 0, back / 2))
    parts += [rest.turn("x", -lean).at(0, 0.44 * depth, height) for rest in rests]
    for x in [0.45 * width, -0.45 * width][: d.integer(1, 2)]:
        parts.append(box(0.09, depth * 0.85, 0.06).at(x, 0.02, height + 0.35))
        parts.append(cylinder(0.03, 0.35).at(x, -0.33 * depth, height + 0.17))
    return Solid(parts)


def clock(d: Sampler) -> Solid:
    """A dial with twelve marks and two hands, on feet."""
    radius, depth = d(0.8, 1.0), d(0.3, 0.45)
    mark = box(0.18, 0.08, 0.1).at(radius * 0.78, 0, depth / 2)
    hour = box(0.45 * radius, 0.09, 0.06).at(0.2 * radius, 0, depth / 2 + 0.06)
    minute = box(0.7 * radius, 0.06, 0.05).at(0.32 * radius, 0, depth / 2 + 0.1)
    foot = cylinder(0.07, 0.25).turn("y", 90).at(radius + 0.05, 0, 0)
    return Solid(
        [
            cylinder(radius, depth),
            ring(radius, 0.07).at(0, 0, depth / 2),
            *around(mark, 12),
            hour.turn("z", d(0, 360)),
            minute.turn("z", d(0, 360)),
            cylinder(0.07, 0.16).at(0, 0, depth / 2 + 0.05),
            foot.turn("z", 240),
            foot.turn("z", 300),
        ]
    )


def column(d: Sampler) -> Solid:
    """A short fluted drum of a column with base and capital, and a torch at its side."""
    radius, height, count = d(0.5, 0.65), d(1.0, 1.3), d.integer(11, 15)
    outline = _cog(count, radius * d(0.76, 0.84), radius, 0.5)
    torch: list[Point] = [(0.0, 0.0, 0.0), (0.2, 0.0, 0.02), (0.24, 0.0, 0.22)]
    return Solid(
        [
            prism(outline, height, d(0.8, 0.92)),
            cylinder(radius * 1.2, 0.14).at(0, 0, -height / 2),
            ring(radius, 0.09).at(0, 0, -height / 2 + 0.12),
            cylinder(radius * 0.8, 0.2, radius * 1.1).at(0, 0, height / 2 + 0.05),
            tube(torch, 0.07, 0.12).at(radius * 0.85, 0, 0.1 * height),
        ]
    )


def crown(d: Sampler) -> Solid:
    """A band with points and pearls, and a jewel in front."""
    radius, band, count = d(0.75, 0.9), d(0.3, 0.4), d.integer(10, 14)
    tall = d(0.3, 0.45)
    point = cylinder(0.13, tall, 0.02).at(radius, 0, band / 2 + tall / 2 - 0.04)
    pearl = ball(0.09).at(radius, 0, band / 2 + tall)
    return Solid(
        [
            _hoop(radius - 0.06, radius + 0.06, band),
            *around(point, count),
            *around(pearl, count),
            ball(0.16, 1.3).at(radius + 0.08, 0, 0),
            ring(radius, 0.09).at(0, 0, -band / 2),
        ]
    )


def cup(d: Sampler) -> Solid:
    """A hollow turned body with a handle."""
    radius, height, wall = d(0.4, 0.6), d(0.7, 1.2), d(0.05, 0.08)
    low, size, thick = radius * d(0.65, 1.0), d(0.25, 0.38), d(0.04, 0.07)
    bend: list[Point] = [(x, 0.0, z) for x, z in arc(size, -80, 80, 10)]
    handle = tube(bend, thick).at((low + radius) / 2 - wall, 0, height * d(0.45, 0.6))
    return Solid(
        [revolve([(0, 0), (low, 0), (radius, height), (0, height)]), handle],
        cuts=[
            revolve(
                [
                    (0, wall * 1.5),
                    (low - wall, wall * 1.5),
                    (radius - wall, height + 0.1),
                    (0, height + 0.1),
                ]
            )
        ],
    )


def drum(d: Sampler) -> Solid:
    """A shell with rods and lugs, hoops, and a stick lying across."""
    radius, height, count = d(0.7, 0.9), d(0.7, 1.0), d.integer(9, 12)
    rod = cylinder(0.03, height * 1.02).at(radius + 0.07, 0, 0)
    lug = box(0.14, 0.1, 0.2).at(radius + 0.03, 0, 0)
    stick = tube([(-0.1, 0, 0), (1.1, 0, 0)], 0.04, 0.07).turn("z", d(20, 70))
    return Solid(
        [
            cylinder(radius, height),
            _hoop(radius - 0.05, radius + 0.1, 0.1).at(0, 0, height / 2),
            _hoop(radius - 0.05, radius + 0.1, 0.1).at(0, 0, -height / 2),
            *around(rod, count),
            *around(lug, count),
            stick.at(0.05, 0.1, height / 2 + 0.03),
        ]
    )


def fan(d: Sampler) -> Solid:
    """Tilted blades in a round frame, a motor behind and a foot."""
    radius, count, tilt = d(0.8, 1.0), d.integer(8, 12), d(20, 40)
    blade = box(radius * 0.75, 0.22, 0.035).turn("x", tilt).at(radius * 0.52, 0, 0)
    return Solid(
        [
            _hoop(radius, radius + 0.08, d(0.25, 0.35)),
            cylinder(0.22, 0.25),
            *around(blade, count),
            cylinder(0.16, 0.4).at(0, 0, -0.2),
            box(0.14, 2 * radius, 0.06).at(0, 0, -0.16),
            box(0.14, 0.5, 0.5).at(0, -radius - 0.1, -0.05),
        ]
    )


def flange(d: Sampler) -> Solid:
    """A plate with a bolt circle, a neck with a bore, and a port on its side."""
    radius, thick, count = d(0.9, 1.1), d(0.15, 0.25), d.integer(10, 14)
    neck, tall = radius * d(0.45, 0.55), d(0.5, 0.8)
    hole = cylinder(radius * d(0.07, 0.09), 0.7).at(radius * 0.8, 0, 0)
    boss = cylinder(radius * 0.12, thick * 1.4).at(radius * 0.8, 0, 0.1)
    return Solid(
        [
            cylinder(radius, thick),
            cylinder(neck * 1.25, tall, neck).at(0, 0, tall / 2),
            _hoop(neck * 0.8, neck * 1.25, 0.12).at(0, 0, tall),
            *around(boss, count),
            cylinder(0.12, 0.4).turn("y", 90).at(neck + 0.2, 0, tall * 0.55),
        ],
        cuts=[cylinder(neck * 0.75, 1.1 * tall + 0.4).at(0, 0, tall / 2), *around(hole, count)],
    )


def gear(d: Sampler) -> Solid:
    """A spur gear with a hub, a bore with its keyway, holes, and a crank pin."""
    radius, thick, count = d(0.8, 1.0), d(0.25, 0.4), d.integer(11, 16)
    outline = _cog(count, radius, radius * d(1.18, 1.28), d(0.35, 0.5))
    hub, bore = radius * d(0.3, 0.4), radius * d(0.14, 0.2)
    hole = cylinder(radius * 0.12, thick * 1.1).at(radius * 0.65, 0, 0)
    pin = cylinder(0.1, d(0.35, 0.6)).at(radius * 0.8, 0, thick / 2 + 0.1)
    return Solid(
        [prism(outline, thick), cylinder(hub, thick + 0.3).at(0, 0, 0.1), pin.turn("z", d(0, 360))],
        cuts=[
            cylinder(bore, thick + 0.6),
            box(bore * 1.3, bore * 0.5, thick + 0.61).at(bore, 0, 0),
            *around(hole, d.integer(5, 8), 20),
        ],
    )


def guitar(d: Sampler) -> Solid:
    """A waisted body with a sound hole, a neck, a head and pegs."""
    lower, upper, waist, thick = d(0.55, 0.7), d(0.4, 0.5), d(0.3, 0.38), d(0.15, 0.28)
    right = [(0.0, -0.75), (0.6 * lower, -0.7), (lower, -0.4), (0.85 * lower, -0.1), (waist, 0.12)]
    right += [(0.9 * upper, 0.3), (upper, 0.5), (0.6 * upper, 0.68)]
    left = [(-x, y) for x, y in right[:0:-1]]
    if d.chance(0.5):  # a cutaway
        right[-2:] = [(0.4 * upper, 0.42)]
    length = d(1.0, 1.4)
    parts = [
        prism([*right, *left], thick),
        box(0.12, length, 0.07).at(0, 0.6 + length / 2, thick / 2),
        box(0.2, 0.3, 0.06).turn("x", -d(5, 15)).at(0, 0.7 + length, thick / 2 - 0.02),
        box(0.4, 0.07, 0.06).at(0, -0.42, thick / 2),
    ]
    for k in range(3):
        y = 0.62 + length + 0.08 * k
        parts.append(cylinder(0.025, 0.16).turn("y", 90).at(-0.13, y, thick / 2 - 0.02))
    return Solid(parts, cuts=[cylinder(d(0.14, 0.2), thick * 1.2).at(0, 0.02, thick * 0.3)])


def house(d: Sampler) -> Solid:
    """Walls under a gable roof, a chimney, a door, windows and an annex."""
    width, depth, height, rise = d(1.4, 2.0), d(1.0, 1.4), d(0.7, 1.1), d(0.4, 0.8)
    over = 0.1
    gable = [(-depth / 2 - over, -rise / 3), (depth / 2 + over, -rise / 3), (0.0, 2 * rise / 3)]
    annex = d(0.5, 0.7) * height
    roof = prism(gable, width + 2 * over).turn("z", 90).turn("x", 90).turn("z", 90)
    cuts = [box(0.25, 0.1, 0.5 * height).at(d(-0.3, 0.3) * width, -depth / 2, 0.27 * height)]
    for x in (-0.3, 0.3)[: d.integer(1, 2)]:
        cuts.append(box(0.22, 0.1, 0.22).at(x * width, depth / 2, 0.6 * height))
    return Solid(
        [
            box(width, depth, height).at(0, 0, height / 2),
            roof.at(0, 0, height + rise / 3 - 0.02),
            box(0.18, 0.18, rise + 0.3).at(0.3 * width, d(0.1, 0.25) * depth, height + rise / 2),
            box(0.6, depth * 0.6, annex).at(-width / 2 - 0.25, -0.1, annex / 2 + 0.01),
        ],
        cuts,
    )


def impeller(d: Sampler) -> Solid:
    """Curved vanes on a disc around a hub, with one balance weight."""
    radius, count, bend = d(0.85, 1.0), d.integer(9, 13), d(40, 70)
    vane: list[Point] = []
    for k in range(6):
        c, s = circle(bend * k / 5 / 360)
        r = radius * (0.3 + 0.66 * k / 5)
        vane.append((r * c, r * s, 0.0))
    low, high = tube(vane, 0.06).at(0, 0, 0.1), tube(vane, 0.05).at(0, 0, 0.2)
    return Solid(
        [
            cylinder(radius, 0.12),
            cylinder(radius * 0.3, d(0.5, 0.7), radius * 0.2).at(0, 0, 0.2),
            *around(low, count),
            *around(high, count),
            box(0.28, 0.34, 0.24).at(radius * 0.9, 0, -0.15),
        ],
        cuts=[cylinder(0.1, 1.3)],
    )


def knob(d: Sampler) -> Solid:
    """A knurled knob on a skirt, with a pointer and a shaft."""
    radius, height, count = d(0.6, 0.75), d(0.5, 0.8), d.integer(11, 16)
    outline = _cog(count, radius * d(0.85, 0.9), radius, 0.5)
    return Solid(
        [
            prism(outline, height, d(0.85, 1.0)),
            cylinder(radius * 1.3, 0.14).at(0, 0, -height / 2),
            box(radius * 0.9, 0.16, 0.3).at(radius * 0.45, 0, height / 2),
            box(0.3, 0.2, 0.24).at(radius * 1.25, 0, -height / 2 + 0.06),
            cylinder(0.14, 0.6).at(0, 0, -height / 2 - 0.3),
        ],
        cuts=[box(0.3, 0.5, 0.4).at(0.2, 0, -height / 2 - 0.5)],
    )


def lantern(d: Sampler) -> Solid:
    """Posts around a light, a vented roof, a ring to hang it by and a key to trim the wick."""
    radius, height, count = d(0.5, 0.6), d(0.8, 1.0), d.integer(9, 13)
    post = cylinder(0.045, height).at(radius, 0, 0)
    vent = cylinder(0.06, 0.3).turn("y", 90).at(radius, 0, height / 2 + 0.16)
    key: list[Point] = [(radius, 0.0, 0.0), (radius + 0.38, 0.0, 0.0)]
    return Solid(
        [
            cylinder(radius * 1.25, 0.18).at(0, 0, -height / 2),
            ball(radius * 0.55, d(1.1, 1.4)),
            *around(post, count),
            cylinder(radius * 1.2, 0.4, radius * 0.5).at(0, 0, height / 2 + 0.12),
            ring(d(0.2, 0.28), 0.04).turn("x", 90).at(0, 0, height / 2 + 0.5),
            tube(key, 0.06, 0.08).at(0, 0, -height / 2),
        ],
        cuts=around(vent, count, 180 / count),
    )


def pipe(d: Sampler) -> Solid:
    """A hollow elbow with unequal flanges and a branch."""
    radius, bend, wall = d(0.2, 0.28), d(0.5, 0.8), d(0.04, 0.06)
    turn, straight = d(60, 110), d(0.4, 0.9)
    path: list[Point] = [(0.0, 0.0, -straight)]
    path += [(bend + x, 0.0, z) for x, z in arc(bend, 180, 180 - turn, 12)]
    (ax, _, az), (bx, _, bz) = path[-2:]
    step = ((bx - ax) ** 2 + (bz - az) ** 2) ** 0.5
    ux, uz = (bx - ax) / step, (bz - az) / step
    mouth = (bx + ux * 0.3, 0.0, bz + uz * 0.3)
    flange = tube([(mouth[0] - ux * 0.12, 0.0, mouth[2] - uz * 0.12), mouth], radius * 1.9)
    beyond = (mouth[0] + ux * 0.1, 0.0, mouth[2] + uz * 0.1)
    start = (0.0, 0.0, -straight - 0.1)
    bolts = [
        cylinder(0.045, 0.5).at(radius * 1.5 * c, radius * 1.5 * s, -straight)
        for c, s in (circle(k / 6 + 1 / 12) for k in range(6))
    ]
    branch = d(0.35, 0.6)
    return Solid(
        [
            tube([*path, mouth], radius),
            cylinder(radius * 1.8, 0.12).at(0, 0, -straight + 0.05),
            flange,
            cylinder(radius * 0.6, branch).turn("x", 90).at(0, branch / 2, -straight / 2),
            cylinder(radius * 0.9, 0.1).turn("x", 90).at(0, branch, -straight / 2),
        ],
        cuts=[tube([start, *path[1:], beyond], radius - wall), *bolts],
    )


def pulley(d: Sampler) -> Solid:
    """A grooved wheel with spokes, and a crank."""
    radius, depth, count = d(0.85, 1.0), d(0.3, 0.45), d.integer(9, 13)
    rim, groove = radius * 0.78, radius * d(0.84, 0.88)
    half = depth / 2
    section = [(rim, -half), (radius, -half), (groove, 0.0), (radius, half), (rim, half)]
    spoke = cylinder(0.05, radius * 0.7).turn("y", 90).at(radius * 0.45, 0, 0)
    return Solid(
        [
            revolve(section),
            cylinder(radius * 0.2, depth * 1.4),
            *around(spoke, count),
            box(0.45 * radius, 0.12, 0.08).at(0.2 * radius, 0, half + 0.12),
            cylinder(0.07, d(0.35, 0.5)).at(0.4 * radius, 0, half + 0.3),
        ]
    )


def ratchet(d: Sampler) -> Solid:
    """A wheel with sloping teeth, a square bore and a pawl."""
    radius, thick, count = d(0.8, 0.95), d(0.25, 0.4), d.integer(10, 14)
    outline: list[Corner] = []
    for tooth in range(count):
        for step, r in ((0.0, radius), (0.92, radius * 1.22)):
            c, s = circle((tooth + step) / count)
            outline.append((r * c, r * s))
    pawl = box(0.4, 0.12, thick * 0.7).turn("z", d(50, 70)).at(radius * 1.2, 0.2, 0)
    side = d(0.3, 0.4)
    return Solid(
        [
            prism(outline, thick),
            cylinder(0.4, thick + 0.2),
            *around(cylinder(0.07, thick + 0.16).at(radius * 0.75, 0, 0), count),
            pawl,
            cylinder(0.09, thick * 1.2).at(radius * 1.3, 0.4, 0),
        ],
        cuts=[box(side, side, thick + 0.3)],
    )


def robot(d: Sampler) -> Solid:
    """An arm of two links on a turntable, with motors and a gripper."""
    first, second = d(0.8, 1.2), d(0.7, 1.0)
    c1, s1 = circle(d(55, 120) / 360)
    c2, s2 = circle(d(-50, 30) / 360)
    shoulder = (0.0, 0.0, 0.45)
    elbow = (first * c1, 0.0, 0.45 + first * s1)
    wrist = (elbow[0] + second * c2, 0.0, elbow[2] + second * s2)
    tip = (wrist[0] + 0.25 * c2, 0.0, wrist[2] + 0.25 * s2)
    fingers = []
    for side in (-0.11, 0.11):
        start = (tip[0], side, tip[2])
        fingers.append(tube([start, (tip[0] + 0.25 * c2, side, tip[2] + 0.25 * s2)], 0.04, 0.025))
    hand = box(0.1, 0.34, 0.12).turn("y", d(-20, 20)).at(*tip)
    return Solid(
        [
            cylinder(d(0.4, 0.5), 0.16),
            cylinder(0.25, 0.45, 0.18).at(0, 0, 0.25),
            cylinder(0.16, 0.5).turn("x", 90).at(0, d(0.05, 0.12), 0.45),
            tube([shoulder, elbow], 0.13, 0.09),
            cylinder(0.12, 0.36).turn("x", 90).at(elbow[0], d(0.03, 0.08), elbow[2]),
            tube([elbow, wrist], 0.09, 0.06),
            tube([wrist, tip], 0.05),
            hand,
            *fingers,
        ]
    )


def screw(d: Sampler) -> Solid:
    """A thick threaded shaft, a knurled head and a lug."""
    radius, length, turns = d(0.3, 0.38), d(0.7, 1.0), d.integer(4, 5)
    steps = 12 * turns
    thread: list[Point] = []
    for k in range(steps + 1):
        c, s = circle(k / 12)
        thread.append((radius * c, radius * s, -length * k / steps))
    head, count = d(0.65, 0.8), d.integer(11, 15)
    return Solid(
        [
            cylinder(radius, length).at(0, 0, -length / 2),
            tube(thread, 0.06),
            prism(_cog(count, head * 0.87, head, 0.5), 0.4).at(0, 0, 0.18),
            box(0.2, 0.2, 0.22).at(head, 0, 0.3),
        ],
        cuts=[box(1.3 * head, 0.12, 0.2).at(0.2, 0, 0.4)],
    )


def ship(d: Sampler) -> Solid:
    """A hull, a cabin aft, a funnel, masts and a crane."""
    length, beam, height = d(2.4, 3.2), d(0.6, 0.9), d(0.4, 0.6)
    a, b = -length / 2, length / 2
    deck = [
        (a * 0.72, -0.36 * beam),
        (b * 0.4, -0.4 * beam),
        (b * 0.78, 0.0),
        (b * 0.4, 0.4 * beam),
        (a * 0.72, 0.36 * beam),
    ]
    cabin = d(0.3, 0.6)
    stem = d(0.9, 1.4)
    boom = (d(0.4, 0.7), d(0.1, 0.25), 0.35)
    return Solid(
        [
            prism(deck, height, d(1.2, 1.4)),
            box(0.7, beam * 0.65, cabin).at(0.45 * a, 0, height / 2 + cabin / 2 - 0.02),
            box(0.4, beam * 0.5, 0.2).at(0.42 * a, 0, height / 2 + cabin + 0.05),
            cylinder(0.12, 0.5).at(0.6 * a, 0, height / 2 + cabin + 0.2),
            cylinder(0.04, stem).at(0.25 * b, 0, height / 2 + stem / 2 - 0.05),
            tube([(0, 0, 0), boom], 0.035).at(0.25 * b, 0, height / 2 + 0.5 * stem),
        ],
        cuts=[box(0.45, beam * 0.5, 0.3).at(0.5 * b, 0, height / 2)],
    )


def teapot(d: Sampler) -> Solid:
    """A round body with a spout, a handle and a lid."""
    radius, tall, foot = d(0.5, 0.65), d(0.75, 1.1), d(0.3, 0.4)
    spout: list[Point] = [
        (0.0, 0.0, -0.15),
        (0.22, 0.0, -0.05),
        (0.35, 0.0, 0.15),
        (0.5, 0.0, d(0.25, 0.4)),
    ]
    size = d(0.25, 0.35)
    bend: list[Point] = [(x, 0.0, z) for x, z in arc(size, 95, 265, 10)]
    return Solid(
        [
            ball(radius, tall),
            cylinder(foot, 0.2).at(0, 0, -radius * tall),
            cylinder(radius * 0.45, 0.12).at(0, 0, radius * tall * 0.92),
            ball(0.08).at(0, 0, radius * tall + 0.12),
            tube(spout, 0.13, 0.06).at(radius * 0.85, 0, 0),
            tube(bend, d(0.04, 0.06)).at(-radius * 0.9, 0, 0.02),
        ],
        cuts=[cylinder(0.04, 0.3).turn("y", 60).at(radius * 0.85 + 0.5, 0, spout[-1][2])],
    )


def turbine(d: Sampler) -> Solid:
    """Two rows of blades on a shaft, and a blade that carries a weight."""
    radius, count, tilt = d(0.8, 0.95), d.integer(12, 16), d(25, 45)
    hub, gap = radius * d(0.35, 0.45), d(0.22, 0.3)
    blade = box(radius - hub + 0.1, 0.16, 0.04).turn("x", tilt).at((radius + hub) / 2, 0, 0)
    return Solid(
        [
            cylinder(hub, 0.9, hub * 0.8),
            *around(blade.at(0, 0, gap), count),
            *around(blade.turn("x", -2 * tilt).at(0, 0, -gap), count, 180 / count),
            _hoop(radius - 0.02, radius + 0.05, 0.12).at(0, 0, gap),
            cylinder(0.12, d(0.4, 0.6)).at(0, 0, 0.6),
            box(0.2, 0.24, 0.34).at(radius, 0, gap - 0.16),
        ]
    )


def umbrella(d: Sampler) -> Solid:
    """A canopy with ribs, a stick and a hooked handle."""
    radius, rise, count = d(0.9, 1.1), d(0.35, 0.5), d.integer(9, 12)
    canopy = prism(
        [(radius * x, radius * y) for x, y in arc(1, 0, 360 - 360 / count, count - 1)], rise, 0.1
    )
    rib = tube([(radius * 1.05, 0, -rise / 2 - 0.04), (0.05, 0, rise / 2)], 0.05)
    length, hook = d(0.5, 0.7), 0.24
    stick: list[Point] = [(0.0, 0.0, rise / 2 + 0.2), (0.0, 0.0, -length)]
    stick += [(x + hook, 0.0, z - length) for x, z in arc(hook, 180, 330, 8)[1:]]
    stay = tube([(0.0, 0.0, -0.35 * length), (radius * 0.6, 0.0, -rise * 0.2)], 0.025)
    return Solid(
        [canopy, *around(rib, count), *around(stay, count), tube(stick, 0.07)],
        cuts=[canopy.at(0, 0, -0.08)],
    )


def wheel(d: Sampler) -> Solid:
    """A tyre with treads, spokes, a hub, and a brake at one side."""
    radius, width, count = d(0.8, 0.95), d(0.3, 0.45), d.integer(11, 15)
    spoke = box(radius * 0.7, 0.07, 0.07).at(radius * 0.42, 0, 0)
    tread = box(0.14, 0.16, width * 0.9).at(radius, 0, 0)
    return Solid(
        [
            _hoop(radius * 0.75, radius, width),
            *around(tread, count),
            *around(spoke, count, 180 / count),
            cylinder(0.18, width * 1.3),
            cylinder(radius * 0.5, 0.06).at(0, 0, -width / 2 - 0.05),
            box(0.3, 0.25, 0.2).at(radius * 0.45, 0, -width / 2 - 0.1),
        ]
    )


RECIPES: dict[str, Recipe] = {
    recipe.__name__: recipe
    for recipe in (
        airplane,
        barrel,
        bearing,
        birdcage,
        bracket,
        cake,
        carousel,
        castle,
        chair,
        clock,
        column,
        crown,
        cup,
        drum,
        fan,
        flange,
        gear,
        guitar,
        house,
        impeller,
        knob,
        lantern,
        pipe,
        pulley,
        ratchet,
        robot,
        screw,
        ship,
        teapot,
        turbine,
        umbrella,
        wheel,
    )
}
