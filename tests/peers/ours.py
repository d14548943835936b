"""Our side: the `peer` example and the `moq` binary as subprocesses."""

import asyncio
import re
import subprocess


class Process:
    """A program, the lines it prints, and the lines it is told."""

    def __init__(self):
        self.log = []
        self.waiters = []

    @classmethod
    async def start(cls, *command):
        self = cls()
        self.process = await asyncio.create_subprocess_exec(
            *map(str, command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.pump = asyncio.create_task(self.read())
        return self

    async def read(self):
        while line := await self.process.stdout.readline():
            self.log.append(line.decode(errors="replace").rstrip())
            for waiter in self.waiters:
                waiter.set()
        self.log.append("(it ended)")
        for waiter in self.waiters:
            waiter.set()

    def tell(self, line):
        self.process.stdin.write(f"{line}\n".encode())

    async def expect(self, pattern, since=0):
        """The next line that matches, as (match, index of the line after it)."""
        waiter = asyncio.Event()
        self.waiters.append(waiter)
        try:
            at = since
            while True:
                for at in range(at, len(self.log)):
                    if found := re.match(pattern, self.log[at]):
                        return found, at + 1
                    if self.log[at] == "(it ended)":
                        raise AssertionError(f"it ended before {pattern!r}: {self.log[-5:]}")
                at = len(self.log)
                waiter.clear()
                await waiter.wait()
        finally:
            self.waiters.remove(waiter)

    async def stop(self):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self.pump


class Relay:
    """`moq relay`."""

    def __init__(self, process, address):
        self.process, self.address = process, address

    @classmethod
    async def start(cls, moq, version, *more):
        command = [moq, "relay", "--listen", "127.0.0.1:0", "--tls-generate", "localhost"]
        command += ["--auth-public", "**", "--protocol", version, *more]
        process = await Process.start(*command)
        found, _ = await process.expect(r"listening on (\S+)")
        return cls(process, found[1])

    async def stop(self):
        await self.process.stop()


class Ours:
    """The `peer` example."""

    def __init__(self, process, address=None):
        self.process, self.address = process, address

    @classmethod
    async def listen(cls, binary, version):
        process = await Process.start(binary, "listen", "127.0.0.1:0", version)
        found, _ = await process.expect(r"listening (\S+)")
        return cls(process, found[1])

    @classmethod
    async def connect(cls, binary, version, address):
        process = await Process.start(binary, "connect", address, version)
        await process.expect(rf"session {version}$")
        return cls(process)

    async def stop(self):
        await self.process.stop()

    async def ask(self, line, answer):
        since = len(self.process.log)
        self.process.tell(line)
        found, _ = await self.process.expect(f"{answer}|failed .*", since)
        assert not found[0].startswith("failed"), found[0]
        return found

    # What a publisher does.

    async def create(self, path):
        self.process.tell(f"create {path}")
        return Broadcast(self, path)

    # What a subscriber does.

    async def announced(self):
        since = len(self.process.log)
        self.process.tell("announced")
        return Announced(self, since)

    async def read(self, path, name, priority=0, age=0, start=None, end=None):
        bounds = ["-" if bound is None else bound for bound in (start, end)]
        since = len(self.process.log)
        self.process.tell(f"read {path} {name} {priority} {age} {bounds[0]} {bounds[1]}")
        return Reader(self, name, since)

    async def fetch(self, path, name, sequence):
        found = await self.ask(f"fetch {path} {name} {sequence}", rf"(group|error) {name} .*")
        assert found[1] == "group", found[0]
        return group(found[0])

    async def goaway_received(self):
        found, _ = await self.process.expect(r"goaway (.*)")
        return found[1]


class Broadcast:
    def __init__(self, peer, path):
        self.peer, self.path = peer, path

    async def close(self):
        self.peer.process.tell(f"close {self.path}")

    async def track(self, name, priority=127, age=5000, scale=1000):
        # Who reads it must not be told that it isn't there.
        await self.peer.ask(f"track {self.path} {name} {priority} {age} {scale}", f"made {name}$")
        return Track(self.peer, self.path, name)


class Track:
    def __init__(self, peer, path, name):
        self.peer, self.at = peer, f"{path} {name}"

    async def group(self, *texts):
        return int((await self.peer.ask(f"group {self.at} {' '.join(texts)}", r"wrote (\d+)"))[1])

    async def large(self, size):
        return int((await self.peer.ask(f"bulk {self.at} 1 {size}", r"wrote (\d+)"))[1])

    async def half(self, text, code):
        return int((await self.peer.ask(f"half {self.at} {text} {code}", r"wrote (\d+)"))[1])

    async def datagram(self, text):
        return int((await self.peer.ask(f"datagram {self.at} {text}", r"wrote (\d+)"))[1])

    async def finish(self):
        self.peer.process.tell(f"finish {self.at}")

    async def used(self):
        await self.peer.ask(f"used {self.at}", "used")

    async def unused(self):
        await self.peer.ask(f"unused {self.at}", "unused")


class Announced:
    def __init__(self, peer, since):
        self.peer, self.since = peer, since

    async def until(self, sign, path):
        pattern = rf"\{sign} {re.escape(path)}( |$)"
        _, self.since = await self.peer.process.expect(pattern, self.since)


class Reader:
    def __init__(self, peer, name, since):
        self.peer, self.name, self.since = peer, name, since

    async def next(self, kind):
        pattern = rf"({kind}|error) {self.name}(?: |$).*"
        found, self.since = await self.peer.process.expect(pattern, self.since)
        if found[1] == "error" and kind != "error":
            raise AssertionError(found[0])
        return found[0]

    async def info(self):
        words = (await self.next("info")).split()
        return tuple(map(int, words[2:5]))

    async def group(self):
        return group(await self.next("group"))

    async def datagram(self):
        _, _, sequence, text = (await self.next("datagram")).split()
        return int(sequence), text

    async def end(self):
        await self.next("end")

    async def refused(self):
        await self.next("error")

    async def update(self, priority, age):
        self.peer.process.tell(f"update {self.name} {priority} {age}")

    async def leave(self):
        self.peer.process.tell(f"leave {self.name}")


def group(line):
    """(sequence, [(ms, text)…], bytes, how it ended)"""
    _, _, sequence, _, size, outcome, *frames = line.split(" ")
    frames = [(int(ms), text) for ms, _, text in (frame.partition(":") for frame in frames)]
    return int(sequence), frames, int(size), outcome
