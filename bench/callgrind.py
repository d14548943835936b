"""Instructions and heap allocations of one bench case, exactly, by callgrind: the same binary counts the same every time.

A criterion bench marks its region by an `#[inline(never)]` function whose name begins with `measured_`; one iteration is
run (`--test`). Called by the counts lane of `bench/run`; tested by test_callgrind.py.
"""

import dataclasses
import pathlib
import re
import subprocess
import tempfile

REGION = "*measured_*"
ALLOCATORS = ("malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc")
# A case under callgrind runs some 50 times slower than alone.
TIMEOUT = 600


class Failed(Exception):
    """The case did not run to its end; the message holds what it said last."""


@dataclasses.dataclass(frozen=True)
class Count:
    instructions: int
    allocations: int


def count(binary, case, env=None):
    """One iteration of `case`, or None if it has no measured region."""
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "profile"
        command = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}.%p", "--collect-atstart=no",
            f"--toggle-collect={REGION}", "--dump-instr=yes", "--compress-pos=no", "--compress-strings=no",
            binary, "--bench", "--test", case, "--exact",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=env, cwd=folder)
        except subprocess.TimeoutExpired:
            raise Failed(f"{case}: not done after {TIMEOUT} s under callgrind") from None
        if done.returncode:
            raise Failed(f"{case}: {' | '.join((done.stdout + done.stderr).splitlines()[-3:])}")
        # criterion starts a child (it looks for cargo); the profile of the bench itself is the one that collected.
        counted = [parse(path.read_text(errors="replace")) for path in pathlib.Path(folder).glob("profile.*")]
    whole = max(counted, key=lambda each: each.instructions, default=None)
    return whole if whole and whole.instructions else None


def parse(profile):
    """What a profile written with `--dump-instr=yes` and nothing compressed holds. O(length).

    An allocator's first instruction runs once a call, so its cost is the number of calls. (`calls=` lines would not do:
    they count from the program's start, not within the region.)
    """
    instructions, entries, function, is_call = 0, {}, None, False
    for line in profile.splitlines():
        if line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            is_call = True
        elif line.startswith("0x"):
            if is_call:
                is_call = False
            elif function in ALLOCATORS:
                address, *_, cost = line.split()
                entries.setdefault(function, {}).setdefault(int(address, 16), 0)
                entries[function][int(address, 16)] += int(cost)
        elif hit := re.match(r"(?:summary|totals): (\d+)", line):
            instructions = max(instructions, int(hit[1]))
    return Count(instructions, sum(costs[min(costs)] for costs in entries.values()))
