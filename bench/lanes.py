"""Runs cases: under callgrind (counts) and under criterion's clock (times). Which is faster is for reduce.py to say."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

import callgrind
import machine
from reduce import STEAL_LIMIT, Sample

# A round that the host disturbed is taken again, this often at most.
RETRIES = 3
# Under this many iterations more than the short run, page faults can't be told from criterion's own.
LEAST_ITERATIONS = 20


def cases(arm, wanted):
    """{"package:target/case": (executable, case)} of one arm's criterion benches."""
    found = {}
    for bench, executable in sorted(arm.benches.items()):
        for case in list_cases(executable):
            name = f"{bench}/{case}"
            if re.search(wanted, name):
                found[name] = (executable, case)
    return found


def list_cases(executable):
    """Empty for a bench that isn't criterion's (a comparison that prints its own table, and would begin to run)."""
    return listed(executable, "--bench", "--list") if listed(executable, "--list") else []


def listed(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return []
    names = [line.removesuffix(": benchmark") for line in done.stdout.splitlines() if line.endswith(": benchmark")]
    return [] if done.returncode else names


def count(place, env):
    """The case's `callgrind.Count`, None without a measured region or without the case."""
    return callgrind.count(*place, env) if place else None


class Timed:
    """One arm's case under the clock. Page faults an iteration are what a run takes beyond a short one, by iterations."""

    def __init__(self, place, seconds, env):
        self.executable, self.case = place
        self.seconds, self.env = seconds, env
        self.short = self.measure(0.05)

    def sample(self):
        """A `Sample`, or None if the case failed."""
        run = self.measure(self.seconds)
        if run is None:
            return None
        iterations, faults, seconds, steal = run
        more = iterations - (self.short[0] if self.short else 0)
        fresh = max(0, faults - self.short[1]) / more if self.short and more >= LEAST_ITERATIONS else 0.0
        return Sample(seconds, fresh, steal)

    def measure(self, seconds):
        """(iterations, page faults, median seconds an iteration, steal) of one process."""
        with tempfile.TemporaryDirectory() as home:
            command = [
                self.executable, "--bench", self.case, "--exact", "--noplot", "--sample-size", "10", "--nresamples", "100",
                "--warm-up-time", "0.05", "--measurement-time", str(seconds),
            ]  # fmt: skip
            used = machine.run(command, os.environ | self.env | {"CRITERION_HOME": home})
            stored = next(pathlib.Path(home).rglob("new/sample.json"), None)
            if used.status or stored is None:
                return None
            samples = json.loads(stored.read_text())
        each = [time / iterations for time, iterations in zip(samples["times"], samples["iters"])]
        return sum(samples["iters"]), used.faults, statistics.median(each) / 1e9, used.steal


def rounds(take, number):
    """`number` rounds of `take(arm)`: A B B A and A A2 A2 A, which of the two first alternating; with the order taken."""
    taken, order = [], []
    for index in range(number):
        quads = {"B": None, "A2": None}
        for other in sorted(quads, reverse=index % 2 == 0):
            quads[other] = undisturbed(lambda: [take(arm) for arm in ("A", other, other, "A")])
            order += ["A", other, other, "A"]
        taken.append((quads["B"], quads["A2"]))
    return taken, order


def undisturbed(take_quad):
    for _ in range(RETRIES):
        samples = take_quad()
        if all(sample is None or steal_of(sample) <= STEAL_LIMIT for sample in samples):
            break
    return samples


def steal_of(sample):
    return sample["steal"] if isinstance(sample, dict) else sample.steal
