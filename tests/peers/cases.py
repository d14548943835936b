"""What a publisher and a subscriber of different make must agree on.

Each case is run with us publishing and them reading, and the other way round; with us listening, with them listening, and
with our relay between; in each version.
"""

import asyncio


async def announce(publisher, subscriber):
    """Announced, retracted, announced again."""
    announced = await subscriber.announced()
    broadcast = await publisher.create("room/cam")
    await announced.until("+", "room/cam")
    await broadcast.close()
    await announced.until("-", "room/cam")
    await publisher.create("room/cam")
    await announced.until("+", "room/cam")


async def live(publisher, subscriber):
    """Groups as they are written, frames with their times."""
    track = await (await publisher.create("cam")).track("video")
    reader = await subscriber.read("cam", "video", age=5000)
    await track.used()
    for round in range(5):
        sequence = await track.group(f"a{round}", f"b{round}", f"c{round}")
        times = [sequence * 1000 + ms for ms in (0, 20, 40)]
        frames = list(zip(times, (f"a{round}", f"b{round}", f"c{round}")))
        assert await reader.group() == (sequence, frames, 6, "whole")


async def info(publisher, subscriber):
    """What the track says of itself."""
    await (await publisher.create("cam")).track("video", 9, 7000, 90000)
    reader = await subscriber.read("cam", "video")
    assert await reader.info() == (9, 7000, 90000)


async def newest(publisher, subscriber):
    """Without a wish for more, the newest group, whole, at once."""
    track = await (await publisher.create("cam")).track("video", age=60000)
    for text in "abcde":
        await track.group(text)
    reader = await subscriber.read("cam", "video")
    assert (await reader.group())[:2] == (4, [(4000, "e")])


async def past(publisher, subscriber):
    """From a group that is past, to one that comes."""
    track = await (await publisher.create("cam")).track("video", age=60000)
    for text in "abcd":
        await track.group(text)
    reader = await subscriber.read("cam", "video", age=60000, start=1, end=6)
    got = {(await reader.group())[0] for _ in range(3)}
    assert got == {1, 2, 3}, got
    for text in "efg":
        await track.group(text)
    got = {(await reader.group())[0] for _ in range(2)}
    assert got == {4, 5}, got
    await reader.end()


async def large(publisher, subscriber):
    """A frame of many packets."""
    track = await (await publisher.create("cam")).track("video")
    reader = await subscriber.read("cam", "video", age=5000)
    await track.used()
    sequence = await track.large(3_000_000)
    assert (await reader.group())[0::2] == (sequence, 3_000_000)


async def unknown(publisher, subscriber):
    """A track that isn't there is refused."""
    await publisher.create("cam")
    reader = await subscriber.read("cam", "nonsense")
    await reader.refused()


async def ending(publisher, subscriber):
    """The end of a track comes after all of its groups."""
    track = await (await publisher.create("cam")).track("video", age=60000)
    reader = await subscriber.read("cam", "video", age=60000)
    await track.used()
    # One at a time: of groups written at once, their publisher may name a later one as the first.
    for text in "abc":
        sequence = await track.group(text)
        assert (await reader.group())[0] == sequence
    await track.finish()
    await reader.end()


async def aborted(publisher, subscriber):
    """An aborted group is no whole one, and the next is."""
    track = await (await publisher.create("cam")).track("video", age=60000)
    reader = await subscriber.read("cam", "video", age=60000)
    await track.used()
    reading = asyncio.create_task(reader.group())
    sequence = await track.half("kept", 7)
    # Their publisher says that a group was aborted only when there is something else to say.
    await track.group("next")
    (_, frames, _, outcome), after = sorted([await reading, await reader.group()])
    assert frames == [(sequence * 1000, "kept")], frames
    assert outcome != "whole"
    assert after == (sequence + 1, [((sequence + 1) * 1000, "next")], 4, "whole")


async def datagram(publisher, subscriber):
    """A datagram."""
    track = await (await publisher.create("cam")).track("data", age=60000)
    reader = await subscriber.read("cam", "data", age=60000)
    await reader.info()
    await track.used()
    await asyncio.sleep(0.2)
    sequence = await track.datagram("ping")
    assert await reader.datagram() == (sequence, "ping")


async def unsubscribe(publisher, subscriber):
    """Who leaves is not sent to any more, and may come back."""
    track = await (await publisher.create("cam")).track("video", age=60000)
    reader = await subscriber.read("cam", "video", age=60000)
    await track.used()
    await track.group("a")
    await reader.group()
    await reader.leave()
    await track.unused()
    reader = await subscriber.read("cam", "video", age=60000)
    await track.used()
    sequence = await track.group("b")
    while (await reader.group())[0] != sequence:
        pass


async def update(publisher, subscriber):
    """A subscription that changes goes on."""
    track = await (await publisher.create("cam")).track("video", age=60000)
    reader = await subscriber.read("cam", "video", age=60000)
    await track.used()
    await track.group("a")
    await reader.group()
    await reader.update(200, 30000)
    await asyncio.sleep(0.1)
    sequence = await track.group("b")
    assert (await reader.group())[0] == sequence


async def many(publisher, subscriber):
    """Two hundred tracks at once."""
    broadcast = await publisher.create("cam")
    tracks = [await broadcast.track(f"t{n}", age=60000) for n in range(200)]
    readers = [await subscriber.read("cam", f"t{n}", age=60000) for n in range(200)]
    for n, track in enumerate(tracks):
        await track.group(f"text{n}")
    for n, reader in enumerate(readers):
        assert (await reader.group())[1] == [(0, f"text{n}")]


async def fetch(publisher, subscriber):
    """One group of the past, without a subscription."""
    track = await (await publisher.create("cam")).track("video", age=60000)
    for text in "abc":
        await track.group(text, text)
    reader = await subscriber.read("cam", "video", age=60000, start=0)
    for _ in range(3):
        await reader.group()
    assert (await subscriber.fetch("cam", "video", 1))[1] == [(1000, "b"), (1020, "b")]


CASES = [
    announce,
    live,
    info,
    newest,
    past,
    large,
    unknown,
    ending,
    aborted,
    datagram,
    unsubscribe,
    update,
    many,
    fetch,
]
