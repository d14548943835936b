"""A transport stream through `moq publish`, `moq relay` and `moq subscribe`, with their library at one end or both."""

import asyncio
import json
import pathlib
import tempfile

import moq
from ours import Process, Relay
from theirs import Theirs

CLIP = pathlib.Path(__file__).parents[2] / "rs/moq-mux/tests/data/wrap-h264-aac.ts"


def units(stream, pid):
    """How many PES packets begin on a PID."""
    packets = (stream[at : at + 188] for at in range(0, len(stream) - 187, 188))
    return sum((p[1] & 0x1F) << 8 | p[2] == pid and bool(p[1] & 0x40) for p in packets)


def dial(address, version, name):
    return ["--connect", f"https://{address}/", "--tls-insecure", "--protocol", version, "--broadcast", name]


async def ours_to_theirs(options, version, keep):
    """Their subscriber reads every group and frame that `moq publish` sends through `moq relay`."""
    relay = await keep(Relay.start(options.moq, version))
    theirs = await keep(Theirs.connect(relay.address))
    await keep(Process.start(options.moq, "publish", *dial(relay.address, version, "cam"), CLIP))
    broadcast = await theirs.reading.consume().announced_broadcast("cam")
    catalog = await broadcast.catalog()
    layout = json.loads(catalog.sections["mpegts"])["tracks"]
    assert catalog.video and catalog.audio, catalog
    clip = CLIP.read_bytes()
    for name in catalog.video:
        wish = moq.Subscription(max_age_us=60_000_000, group_start=0)
        track = await broadcast.subscribe_track(name, wish)
        groups, frames = {}, 0
        while (group := await track.recv_group()) is not None:
            groups[group.sequence] = [frame async for frame in group]
            frames += len(groups[group.sequence])
        assert sorted(groups) == list(range(len(groups))), sorted(groups)
        assert frames == units(clip, layout[name]["pid"]), frames


async def theirs_to_ours(options, version, keep):
    """`moq subscribe` reads what their importer publishes through `moq relay`, and `moq check` likes it."""
    relay = await keep(Relay.start(options.moq, version))
    theirs = await keep(Theirs.connect(relay.address))
    broadcast = await theirs.create("cam")
    media = broadcast.inner.publish_container_stream(moq.ContainerFormat.TS)
    clip = CLIP.read_bytes()
    media.write(clip[: 188 * 400])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.ts"
        command = ["subscribe", *dial(relay.address, version, "cam"), "--output", out]
        subscriber = await keep(Process.start(options.moq, *command))
        for at in range(188 * 400, len(clip), 188 * 100):
            await asyncio.sleep(0.05)
            media.write(clip[at : at + 188 * 100])
        await asyncio.sleep(1)
        media.finish()
        await broadcast.close()
        await asyncio.sleep(1)
        await subscriber.stop()
        got = out.read_bytes()
    assert len(got) % 188 == 0 and len(got) > len(clip) // 2, f"{len(got)} of {len(clip)} bytes"
    assert all(got[at] == 0x47 for at in range(0, len(got), 188))


async def theirs_to_theirs(options, version, keep):
    """Their publisher and their subscriber meet in our relay."""
    relay = await keep(Relay.start(options.moq, version))
    publisher = await keep(Theirs.connect(relay.address))
    subscriber = await keep(Theirs.connect(relay.address))
    track = await (await publisher.create("cam")).track("video")
    reader = await subscriber.read("cam", "video", age=5000)
    await track.used()
    sequence = await track.group("a", "b")
    assert (await reader.group())[0::3] == (sequence, "whole")


async def listed(options, version, keep):
    """`moq announced` lists what their publisher announces, as it comes and goes."""
    relay = await keep(Relay.start(options.moq, version))
    theirs = await keep(Theirs.connect(relay.address))
    command = ["announced", *dial(relay.address, version, "")[:-2]]
    listing = await keep(Process.start(options.moq, *command))
    broadcast = await theirs.create("room/cam")
    _, at = await listing.expect(r"\+ ?room/cam")
    await broadcast.close()
    await listing.expect(r"- ?room/cam", at)


MEDIA = [ours_to_theirs, theirs_to_ours, theirs_to_theirs, listed]
