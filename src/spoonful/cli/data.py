"""`spoonful data`: list, download and simulate datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from spoonful.cli.evaluate import wide
from spoonful.data import catalog, places
from spoonful.data.fetch import fetch as fetch_archive
from spoonful.data.scenes import SCENES
from spoonful.data.simulate import SENSORS, write_simulated
from spoonful.data.simulate import simulate as simulate_scene
from spoonful.files import check_folder
from spoonful.geometry.checks import check_count

app = typer.Typer(
    help="Datasets: list them, download them, simulate scans, show a pair.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command(name="list")
def list_datasets() -> None:
    """List the datasets with their place or source, size and licence.

    [bold]Examples[/bold]

      spoonful data list

      SPOONFUL_DATA=~/datasets spoonful data list
    """
    console = wide(Console())
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("dataset", no_wrap=True)
    table.add_column("where, or how to get it", overflow="fold")
    for title in ("train", "test", "categories"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("licence", overflow="fold")
    addresses = []
    for found in catalog.survey():
        here = found.place is not None or found.note == "built in"
        note = found.problem or found.note
        if "://" in note:  # a cell might break it in two
            addresses.append(f"{found.name}: {note}")
            note = "see below"
        style = "red" if found.problem else None if here else "dim"
        table.add_row(
            found.name,
            note,
            *("" if n is None else str(n) for n in (found.train, found.test, found.categories)),
            found.licence,
            style=style,
        )
    console.print(table)
    for line in ("", *addresses):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    looked = ", ".join(str(folder) for folder in places.folders())
    console.print(f"looked in {looked}", style="dim", highlight=False, soft_wrap=True)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="The dataset, as `spoonful data list` calls it.")],
    url: Annotated[str | None, typer.Option(help="Another URL of the same file.")] = None,
    from_file: Annotated[
        Path | None, typer.Option(help="The zip file, if you have it already.")
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(help="Its checksum, if it is not the published file.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Folder of datasets. Default: $SPOONFUL_DATA or ~/.cache/spoonful."),
    ] = None,
) -> None:
    """Download a dataset, verify its checksum and unpack it.

    [bold]Examples[/bold]

      spoonful data fetch modelnet40

      spoonful data fetch modelnet40 --from-file modelnet40_ply_hdf5_2048.zip

      spoonful data fetch modelnet40 --url https://example.org/modelnet40.zip
    """
    if url is not None and from_file is not None:
        raise ValueError("give --url or --from-file, not both")
    dataset = catalog.get(name)
    if dataset.archive is None:
        how = dataset.how or "it is built in"
        raise ValueError(f"there is nothing to fetch for {name}: {how}")
    console = Console(stderr=True)
    target = places.folders()[0] if to is None else to.expanduser()
    check_folder("--to", target)
    console.print(f"{name}: {dataset.about}; {dataset.licence}", highlight=False, soft_wrap=True)
    with Progress(
        BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(), console=console
    ) as bar:
        task = bar.add_task(name, total=None, visible=False)
        place = fetch_archive(
            dataset.archive,
            target,
            url=url,
            from_file=from_file,
            sha256=sha256,
            looks_right=dataset.is_here,
            progress=lambda done, total: bar.update(
                task, completed=done, total=total, visible=True
            ),
        )
    typer.echo(place)


@app.command()
def simulate(
    folder: Annotated[Path, typer.Argument(help="Where the scans and scene.json are written.")],
    kind: Annotated[str, typer.Option(help=f"The scene: {', '.join(SCENES)}.")] = "room",
    sensor: Annotated[str, typer.Option(help=f"The sensor: {' or '.join(SENSORS)}.")] = "camera",
    scans: Annotated[int, typer.Option(help="Scans of each scene.")] = 2,
    scenes: Annotated[
        int, typer.Option(help="Scenes; if there are several, each has a folder of its own.")
    ] = 1,
    apart: Annotated[
        bool, typer.Option("--apart", help="Take each scan in another scene, so that none overlap.")
    ] = False,
    detail: Annotated[
        float, typer.Option(help="Resolution of the sensor, as a multiple of the default.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same scans.")] = 0,
) -> None:
    """Simulate scans of rooms, streets and other scenes, with their true poses.

    [bold]Examples[/bold]

      spoonful data simulate rooms --scenes 100

      spoonful data simulate town --kind street --sensor lidar --scans 40

      spoonful data simulate office --kind building --scans 200
    """
    check_count("--scenes", scenes)
    check_folder("folder", folder)
    for k in range(scenes):
        made = simulate_scene(kind, sensor, scans=scans, seed=seed + k, apart=apart, detail=detail)
        typer.echo(write_simulated(folder / f"{k:04d}" if scenes > 1 else folder, made))


# `spoonful data show` is spoonful.cli.show.show; spoonful.cli.app registers it here.
