"""Samples in, verdicts out: the arithmetic of the paired benches. No files, no clock, no processes.

Called by `bench/run`; tested by test_reduce.py on synthetic samples. Three arms: A is the base, A2 the same base built
again, B the head. What differs between A and A2 is noise by construction, so it is the yardstick for B.
"""

import dataclasses
import math
import re
import statistics

# Counts: below either of these a change is not worth a look.
COUNT_RATIO = 0.005
COUNT_INSTRUCTIONS = 50
# Times: never flag less than this, nor less than three times the noise floor.
TIME_RATIO = 0.05
NOISE_FACTOR = 3
# A share of the CPU that the host took away, above which a run says nothing.
STEAL_LIMIT = 0.02
# Fewer undisturbed rounds than this are no basis for a verdict.
LEAST_ROUNDS = 3
# Fresh pages per iteration: one side above the first, and this much more than the other, is another heap mode.
HEAP_FAULTS = 1.0
HEAP_FACTOR = 2.0
# Workloads are compared only when both sides delivered the same.
DELIVERY_RATIO = 0.01


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`name`: same, faster, slower, or why nothing is judged: new, removed, incomplete, disturbed, heap-mode,
    non-deterministic, unequal-delivery. `ratio` is B/A, `floor` the noise, `spread` half the interquartile range."""

    name: str
    ratio: float | None = None
    floor: float | None = None
    spread: float | None = None
    note: str = ""

    @property
    def flagged(self):
        return self.name in ("slower", "faster")


@dataclasses.dataclass(frozen=True)
class Sample:
    """One process running one case: seconds an iteration, fresh pages an iteration, share of CPU stolen meanwhile."""

    seconds: float
    faults: float = 0.0
    steal: float = 0.0


def counts(a, a2, b):
    """The verdict on instruction counts; None for an arm that lacks the case."""
    if a is None or b is None:
        return Verdict("removed" if b is None else "new")
    if a != a2:
        return Verdict("non-deterministic", b / a if a else None, note=f"base counted {a}, built again {a2}")
    if a == 0:
        return Verdict("same" if b == 0 else "slower", note=f"0 → {b}")
    ratio = b / a
    if abs(ratio - 1) > COUNT_RATIO and abs(b - a) > COUNT_INSTRUCTIONS:
        return Verdict("slower" if ratio > 1 else "faster", ratio, 0.0)
    return Verdict("same", ratio, 0.0)


def slopes(counted, promises):
    """Broken promises of flatness. `counted` maps case → count; a promise is {cases, slope, per}: a pattern whose group
    `n` is the size, the most that the count at the largest size may be of that at the smallest, and whether one count
    stands for one `iteration` or for `size` operations. Cases that differ in more than the size are separate curves."""
    broken = []
    for promise in promises:
        curves = {}
        for case, count in counted.items():
            if hit := re.fullmatch(promise["cases"], case):
                start, end = hit.span("n")
                size = int(hit["n"])
                work = size if promise.get("per") == "size" else 1
                curves.setdefault(case[:start] + "*" + case[end:], []).append((size, count / work))
        if not curves:
            broken.append(f"no case matches the promise {promise['cases']}")
        for name, points in sorted(curves.items()):
            (least, low), (most, high) = min(points), max(points)
            if high > promise["slope"] * low:
                broken.append(f"{name}: {low:.0f} at {least} but {high:.0f} at {most}: over {promise['slope']} times")
    return broken


def allocations(counted, promises):
    """Broken promises of few allocations. `counted` maps case → allocations; a promise may say the most of them."""
    return [
        f"{case}: {count} allocations, at most {promise['allocations']} promised"
        for promise in promises
        if "allocations" in promise
        for case, count in sorted(counted.items())
        if re.fullmatch(promise["cases"], case) and count > promise["allocations"]
    ]


def quad(samples):
    """(ratio of the middle pair to the outer one, why not) of four samples taken in the order x y y x."""
    if len(samples) != 4 or any(sample is None or sample.seconds <= 0 for sample in samples):
        return None, "incomplete"
    if any(sample.steal > STEAL_LIMIT for sample in samples):
        return None, "disturbed"
    outer, inner = (samples[0], samples[3]), (samples[1], samples[2])
    # Geometric means: a ratio and its inverse weigh the same, and a linear drift over the four cancels.
    return math.prod(s.seconds for s in inner) ** 0.5 / math.prod(s.seconds for s in outer) ** 0.5, None


def times(rounds):
    """The verdict on one case. A round is (four samples A B B A, four samples A A2 A2 A)."""
    judged = [(quad(ab), quad(aa)) for ab, aa in rounds]
    whole = [(ab[0], aa[0]) for ab, aa in judged if ab[0] is not None and aa[0] is not None]
    if len(whole) < LEAST_ROUNDS:
        why = "disturbed" if any("disturbed" in (ab[1], aa[1]) for ab, aa in judged) else "incomplete"
        return Verdict(why, note=f"{len(whole)} of {len(rounds)} rounds usable")
    ratios = [ratio for ratio, _ in whole]
    ratio = statistics.median(ratios)
    floor = percentile([abs(noise - 1) for _, noise in whole], 0.95)
    spread = (percentile(ratios, 0.75) - percentile(ratios, 0.25)) / 2
    if note := heap_mode(rounds):
        return Verdict("heap-mode", ratio, floor, spread, note)
    if abs(ratio - 1) > max(NOISE_FACTOR * floor, TIME_RATIO):
        return Verdict("slower" if ratio > 1 else "faster", ratio, floor, spread)
    return Verdict("same", ratio, floor, spread)


def heap_mode(rounds):
    """Says so when one side takes fresh pages from the kernel in every iteration and the other doesn't: then the heap's
    thresholds were compared, not the code."""
    arms = {"base": [], "head": []}
    for ab, aa in rounds:
        for name, sample in zip(("base", "head", "head", "base"), ab):
            arms[name].append(sample)
        arms["base"] += aa
    base, head = (
        statistics.median([s.faults for s in arms[name] if s is not None] or [0.0]) for name in ("base", "head")
    )
    low, high = sorted((base, head))
    if high >= HEAP_FAULTS and high > HEAP_FACTOR * max(low, 0.01):
        return f"page faults an iteration: base {base:.1f}, head {head:.1f}: pin the heap (mallopt) or reuse the buffer"
    return ""


def workloads(rounds):
    """The verdict on CPU per delivered byte. A round is (A B B A, A A2 A2 A) of dicts {cpu, delivered, steal}."""
    kept, unequal = [], 0
    for quads in rounds:
        if all(map(equal_delivery, quads)):
            kept.append(tuple([per_byte(run) for run in each] for each in quads))
        else:
            unequal += 1
    verdict = times(kept)
    if unequal and verdict.name == "incomplete":
        return Verdict("unequal-delivery", note=f"{unequal} of {len(rounds)} rounds delivered different amounts")
    return verdict


def equal_delivery(runs):
    delivered = [run["delivered"] if run else 0 for run in runs]
    return min(delivered) > 0 and max(delivered) <= (1 + DELIVERY_RATIO) * min(delivered)


def per_byte(run):
    return Sample(run["cpu"] / run["delivered"], 0.0, run["steal"])


def percentile(values, share):
    """Linear between the two nearest ranks."""
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)
