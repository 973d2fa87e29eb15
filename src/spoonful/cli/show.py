"""`spoonful data show`: describe one item of a protocol, or write it as a 3D page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from torch import Tensor

from spoonful.batch import Batch
from spoonful.cli.answer import wrapped
from spoonful.data import protocols
from spoonful.data.corpus import Corpus
from spoonful.data.items import test_items
from spoonful.evaluation import open_data
from spoonful.files import check_page
from spoonful.geometry import Pose, nearest
from spoonful.metrics import rotation_error_degrees
from spoonful.view import CloudLayer, Fact, PoseStop, write_page

# A source point counts as overlapping when the true pose brings it this near to the target.
REACH = 0.05


def show(
    protocol: Annotated[str, typer.Argument(help="A protocol, such as rpm-crop.")],
    item: Annotated[int, typer.Option(help="The item's number in the test set.")] = 0,
    dataset: Annotated[
        str,
        typer.Option("--data", help="The shapes: synthetic, a dataset's name, a file or a folder."),
    ] = "synthetic",
    out: Annotated[
        Path | None,
        typer.Option(metavar="pair.html", help="Write a 3D page; an existing file is replaced."),
    ] = None,
) -> None:
    """Describe a protocol and a test item of it; --out writes the item as a 3D page.

    [bold]Examples[/bold]

      spoonful data show rpm-crop --item 3 --out pair.html

      spoonful data show dcp-noise --data modelnet40_ply_hdf5_2048

      spoonful data show 3dmatch-30 --data 3dmatch
    """
    check_page("--out", out)
    card = protocols.get(protocol)
    data = open_data(dataset, "test", card)
    items = test_items(card, data)
    if not 0 <= item < len(items):
        raise ValueError(f"--item must be from 0 to {len(items) - 1}, got {item}")
    pair = items[item]
    what = data.name
    if isinstance(data, Corpus) and pair.label is not None:
        what = f"{what}, {data.categories[int(pair.label)]}"
    title = f"{card.name}, item {item}: {what}"
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for text in card.describe().splitlines():
        head = "  " * text.startswith("  ")
        console.print(wrapped(console, head, text.removeprefix(head), indent=14 if head else 0))
    sizes = f"{len(pair.source[0])} and {len(pair.target[0])} points"
    console.print(wrapped(console, "", f"{title}; {sizes}", indent=2))
    if out is None:
        console.print("for a 3D page of the item add: --out pair.html")
        return
    command = f"spoonful data show {card.name} --item {item} --data {dataset} --out {out}"
    console.print(f"wrote {write_item(out, card, pair, title=title, command=command)}")


def write_item(
    path: Path, card: protocols.Protocol, pair: Batch, *, title: str, command: str = ""
) -> Path:
    """Write the page of one item, a batch of one pair whose pose is known."""
    assert pair.pose is not None
    truth = pair.pose.at(0)
    still = Pose.identity()
    source, target = pair.source[0], pair.target[0]
    layers = [
        CloudLayer("source", source, _first(pair.source_normals), moves=True),
        CloudLayer("target", target, _first(pair.target_normals)),
    ]
    if pair.clean is not None:
        layers.append(CloudLayer("clean shape", pair.clean[0], color="grey", visible=False))
    gap = nearest(truth.apply(source), target).squared_distance.sqrt()
    angle = rotation_error_degrees(still.rotation, truth.rotation)
    return write_page(
        path,
        title=title,
        subtitle=card.summary,
        layers=layers,
        poses=[PoseStop("as given", still), PoseStop("true pose", truth)],
        facts=[
            Fact("Protocol", f"{card.name} ({card.hash})"),
            Fact("Source points", len(source)),
            Fact("Target points", len(target)),
            Fact("Rotation", float(angle), "°"),
            Fact("Translation", float(truth.translation.norm())),
            Fact("Overlap", f"{(gap < REACH).float().mean():.0%} of the source"),
        ],
        notes=[line.strip() for line in card.describe().splitlines()[2:]],
        command=command,
    )


def _first(values: Tensor | None) -> Tensor | None:
    return None if values is None else values[0]
