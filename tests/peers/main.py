"""Runs every case in every combination and says how many passed."""

import argparse
import asyncio
import sys
import time
import traceback

from cases import CASES
from media import MEDIA
from ours import Ours, Relay
from theirs import Theirs

VERSIONS = ["moq-lite-06", "moq-lite-05"]
# A case takes a fraction of a second; what hangs must not hold up the rest for long.
PATIENCE = 20
AT_ONCE = 4


class Setting:
    """Two peers of different make, and what is between them."""

    def __init__(self, options, version, topology, we_publish):
        self.options, self.version = options, version
        self.topology, self.we_publish = topology, we_publish
        self.running = []

    def __str__(self):
        who = "ours→theirs" if self.we_publish else "theirs→ours"
        return f"{self.version} {self.topology:<13} {who}"

    async def __aenter__(self):
        if self.topology == "we listen":
            ours = await self.keep(Ours.listen(self.options.peer, self.version))
            theirs = await self.keep(Theirs.connect(ours.address))
        elif self.topology == "they listen":
            theirs = await self.keep(Theirs.listen())
            ours = await self.keep(Ours.connect(self.options.peer, self.version, theirs.address))
        else:
            relay = await self.keep(Relay.start(self.options.moq, self.version))
            theirs = await self.keep(Theirs.connect(relay.address))
            ours = await self.keep(Ours.connect(self.options.peer, self.version, relay.address))
        return (ours, theirs) if self.we_publish else (theirs, ours)

    async def keep(self, starting):
        peer = await starting
        self.running.append(peer)
        return peer

    async def __aexit__(self, *_):
        for peer in reversed(self.running):
            await peer.stop()


class Media:
    """The binaries of the whole path; the case starts what it needs."""

    def __init__(self, options, version, case):
        self.options, self.version, self.case = options, version, case
        self.running = []

    async def __aenter__(self):
        return self.case, self

    keep = Setting.keep
    __aexit__ = Setting.__aexit__


async def whole_path(case, media):
    await case(media.options, media.version, media.keep)


async def attempt(name, setting, case, permits):
    async with permits:
        began = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE):
                async with setting as (publisher, subscriber):
                    await case(publisher, subscriber)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)
            line = next((f"{f.name}:{f.lineno}" for f in where if f.filename.endswith(("cases.py", "media.py"))), "")
            print(f"FAILED {name}: {error!r} at {line}", flush=True)
            for peer in setting.running:
                # A process, or what has one.
                process = peer if hasattr(peer, "log") else getattr(peer, "process", None)
                for said in process.log[-8:] if process else []:
                    print(f"    {said}")
            return False
        print(f"ok     {name} ({time.monotonic() - began:.1f} s)", flush=True)
        return True


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--moq", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    permits = asyncio.Semaphore(AT_ONCE)
    attempts = []
    for case in CASES:
        for version in VERSIONS:
            for topology in ("we listen", "they listen", "our relay"):
                for we_publish in (True, False):
                    setting = Setting(options, version, topology, we_publish)
                    name = f"{case.__name__:<12} {setting}"
                    if all(part in name for part in options.names):
                        attempts.append(attempt(name, setting, case, permits))
    for case in MEDIA:
        for version in VERSIONS:
            name = f"{case.__name__:<16} {version} the whole path"
            if all(part in name for part in options.names):
                media = Media(options, version, case)
                attempts.append(attempt(name, media, whole_path, permits))
    passed = await asyncio.gather(*attempts)
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return 0 if attempts and all(passed) else 1


sys.exit(asyncio.run(main()))
