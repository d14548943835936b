"""Their side: the published package, with the surface of `ours`."""

import asyncio

import moq


class Theirs:
    def __init__(self):
        self.publishing = moq.OriginProducer()
        self.reading = moq.OriginProducer()
        self.serving = self.server = self.client = None
        # What their library gives ends when the last reference to it goes.
        self.kept = []

    @classmethod
    async def listen(cls):
        self = cls()
        self.server = moq.Server(
            "127.0.0.1:0",
            tls_generate=["localhost"],
            publish=self.publishing,
            subscribe=self.reading,
        )
        await self.server.__aenter__()
        self.address = self.server.local_addr
        self.serving = asyncio.create_task(self.server.serve())
        return self

    @classmethod
    async def connect(cls, address, **options):
        self = cls()
        self.client = moq.Client(
            f"moqt://{address}/",
            tls_verify=False,
            publish=self.publishing,
            subscribe=self.reading,
            **options,
        )
        await self.client.__aenter__()
        return self

    async def stop(self):
        if self.client:
            await self.client.__aexit__(None, None, None)
        if self.serving:
            self.serving.cancel()
            await self.server.__aexit__(None, None, None)

    async def create(self, path):
        broadcast = self.publishing.create_broadcast(path)
        broadcast.announce()
        self.kept.append(broadcast)
        return Broadcast(self, broadcast)

    async def announced(self):
        return Announced(self.reading.consume().announced())

    async def read(self, path, name, priority=0, age=0, start=None, end=None):
        wish = moq.Subscription(
            priority=priority, max_age_us=age * 1000, group_start=start, group_end=end
        )
        broadcast = await self.reading.consume().announced_broadcast(path)
        self.kept.append(broadcast)
        return Reader(asyncio.create_task(broadcast.subscribe_track(name, wish)), wish)

    async def fetch(self, path, name, sequence):
        broadcast = await self.reading.consume().announced_broadcast(path)
        return await group(await broadcast.fetch_group(name, sequence))

    async def goaway_received(self):
        raise NotImplementedError


class Broadcast:
    def __init__(self, peer, inner):
        self.peer, self.inner = peer, inner

    async def close(self):
        self.inner.close()

    async def track(self, name, priority=127, age=5000, scale=1000):
        info = moq.TrackInfo(priority=priority, max_age_us=age * 1000, timescale=scale)
        track = self.inner.publish_track(name, info)
        self.peer.kept.append(track)
        return Track(track)


class Track:
    def __init__(self, inner):
        self.inner = inner

    async def group(self, *texts):
        group = self.inner.append_group()
        for index, text in enumerate(texts):
            group.write_frame(text.encode(), (group.sequence * 1000 + index * 20) * 1000)
        group.finish()
        return group.sequence

    async def large(self, size):
        group = self.inner.append_group()
        group.write_frame(bytes([group.sequence % 256]) * size, group.sequence * 1_000_000)
        group.finish()
        return group.sequence

    async def half(self, text, code):
        group = self.inner.append_group()
        group.write_frame(text.encode(), group.sequence * 1_000_000)
        await asyncio.sleep(0.2)
        group.abort(code)
        return group.sequence

    async def datagram(self, text):
        return self.inner.append_datagram(text.encode(), 0)

    async def finish(self):
        self.inner.finish()

    async def used(self):
        await self.inner.used()

    async def unused(self):
        await self.inner.unused()


class Announced:
    def __init__(self, inner):
        self.inner = inner

    async def until(self, sign, path):
        async for update in self.inner:
            if update.prefix == path and update.active == (sign == "+"):
                return
        raise AssertionError("the announcements ended")


class Reader:
    """Their library subscribes once it is read from, so it is read from at once."""

    def __init__(self, track, wish):
        self.track, self.wish = track, wish
        self.groups, self.datagrams = asyncio.Queue(), asyncio.Queue()
        self.pumps = [
            asyncio.create_task(self.pump(lambda track: track.recv_group(), self.groups)),
            asyncio.create_task(self.pump(lambda track: track.recv_datagram(), self.datagrams)),
        ]

    async def pump(self, receive, queue):
        try:
            track = await self.track
            while (item := await receive(track)) is not None:
                queue.put_nowait(item)
            queue.put_nowait(None)
        except moq.Error as error:
            queue.put_nowait(error)

    async def info(self):
        info = (await self.track).info()
        return info.priority, info.max_age_us // 1000, info.timescale

    async def next(self, queue):
        item = await queue.get()
        if isinstance(item, moq.Error):
            raise AssertionError(repr(item))
        return item

    async def group(self):
        found = await self.next(self.groups)
        assert found is not None, "the track ended"
        return await group(found)

    async def datagram(self):
        datagram = await self.next(self.datagrams)
        return datagram.sequence, datagram.payload.decode()

    async def end(self):
        assert await self.next(self.groups) is None

    async def refused(self):
        assert isinstance(await self.groups.get(), moq.Error)

    async def update(self, priority, age):
        self.wish.priority, self.wish.max_age_us = priority, age * 1000
        (await self.track).update(self.wish)

    async def leave(self):
        for pump in self.pumps:
            pump.cancel()
        (await self.track).cancel()


async def group(inner):
    frames, size, outcome = [], 0, "whole"
    try:
        frame = await inner.read_frame()
        while frame is not None:
            size += len(frame.payload)
            if size <= 200:
                frames.append((frame.timestamp_us // 1000, frame.payload.decode()))
            frame = await read_on(inner)
    except moq.Error as error:
        outcome = repr(error)
    return inner.sequence, frames, size, outcome


async def read_on(inner):
    """Their reader isn't woken when its group is aborted, so it has to ask again; not sooner than any frame takes, as what
    is cut short is lost."""
    while True:
        try:
            return await asyncio.wait_for(inner.read_frame(), 1)
        except asyncio.TimeoutError:
            pass
