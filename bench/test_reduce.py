"""The reducer on synthetic samples: stable, noisy, shifted, missing, disturbed, drifting, and in another heap mode."""

import random
import unittest

from reduce import Sample, allocations, counts, heap_mode, percentile, quad, slopes, times, workloads


def rounds(number, shift=1.0, noise=0.0, seed=1, drift=0.0, **more):
    """Rounds of 1 ms samples: B is `shift` times A; each sample is off by up to ± noise; time grows by drift a run."""
    chance = random.Random(seed)
    step = 0

    def sample(factor):
        nonlocal step
        step += 1
        return Sample(0.001 * factor * (1 + chance.uniform(-noise, noise)) * (1 + drift * step), **more)

    return [
        ([sample(factor) for factor in (1, shift, shift, 1)], [sample(1) for _ in range(4)])
        for _ in range(number)
    ]


class Counts(unittest.TestCase):
    def test_equal_is_the_same(self):
        self.assertEqual(counts(20_000, 20_000, 20_000).name, "same")

    def test_more_is_slower_and_less_is_faster(self):
        self.assertEqual(counts(20_000, 20_000, 20_200).name, "slower")
        self.assertEqual(counts(20_000, 20_000, 19_800).name, "faster")

    def test_a_small_share_is_no_change(self):
        self.assertEqual(counts(1_000_000, 1_000_000, 1_004_000).name, "same")

    def test_a_few_instructions_are_no_change(self):
        self.assertEqual(counts(100, 100, 150).name, "same")
        self.assertEqual(counts(100, 100, 151).name, "slower")

    def test_a_base_that_differs_from_itself_is_not_judged(self):
        self.assertEqual(counts(20_000, 20_001, 40_000).name, "non-deterministic")

    def test_new_and_removed_cases(self):
        self.assertEqual(counts(None, None, 5).name, "new")
        self.assertEqual(counts(5, 5, None).name, "removed")

    def test_nothing_counted(self):
        self.assertEqual(counts(0, 0, 0).name, "same")
        self.assertEqual(counts(0, 0, 9).name, "slower")


class Slopes(unittest.TestCase):
    FLAT = {"cases": r"move/\w+/(?P<n>\d+)", "slope": 1.1}

    def test_flat_is_kept(self):
        self.assertEqual(slopes({"move/front/16": 100, "move/front/4096": 110, "other/1": 9}, [self.FLAT]), [])

    def test_a_slope_is_told_for_its_own_curve(self):
        counted = {"move/front/16": 100, "move/front/4096": 100, "move/tail/16": 100, "move/tail/4096": 111}
        self.assertEqual(
            slopes(counted, [self.FLAT]), ["move/tail/*: 100 at 16 but 111 at 4096: over 1.1 times"]
        )

    def test_per_size_divides_by_the_size(self):
        drain = {"cases": r"drain/(?P<n>\d+)", "slope": 1.15, "per": "size"}
        self.assertEqual(slopes({"drain/64": 6_400, "drain/4096": 409_600}, [drain]), [])
        self.assertEqual(len(slopes({"drain/64": 6_400, "drain/4096": 819_200}, [drain])), 1)

    def test_a_promise_without_cases_is_told(self):
        self.assertEqual(slopes({}, [self.FLAT]), [r"no case matches the promise move/\w+/(?P<n>\d+)"])


class Allocations(unittest.TestCase):
    NONE = {"cases": r"move/(?P<n>\d+)", "slope": 1.1, "allocations": 0}

    def test_a_broken_promise_is_told(self):
        self.assertEqual(
            allocations({"move/16": 0, "move/256": 2, "else/1": 9}, [self.NONE]),
            ["move/256: 2 allocations, at most 0 promised"],
        )

    def test_nothing_promised_is_nothing_broken(self):
        self.assertEqual(allocations({"move/16": 5}, [Slopes.FLAT]), [])


class Times(unittest.TestCase):
    def test_stable_and_equal_is_the_same(self):
        verdict = times(rounds(5))
        self.assertEqual((verdict.name, round(verdict.ratio, 9), verdict.floor), ("same", 1.0, 0.0))

    def test_a_known_shift_is_found_with_its_size(self):
        for shift, name in [(1.2, "slower"), (0.8, "faster")]:
            verdict = times(rounds(5, shift=shift))
            self.assertEqual(verdict.name, name)
            self.assertAlmostEqual(verdict.ratio, shift)

    def test_under_five_per_cent_is_never_flagged(self):
        self.assertEqual(times(rounds(5, shift=1.049)).name, "same")

    def test_noise_of_a_few_per_cent_flags_nothing(self):
        for seed in range(200):
            self.assertFalse(times(rounds(7, noise=0.08, seed=seed)).flagged, seed)

    def test_a_shift_is_found_through_moderate_noise(self):
        for seed in range(200):
            self.assertEqual(times(rounds(7, shift=1.3, noise=0.04, seed=seed)).name, "slower", seed)

    def test_a_shift_smaller_than_the_noise_is_not_flagged(self):
        noisy = rounds(7, shift=1.08, noise=0.3, seed=3)
        self.assertEqual(times(noisy).name, "same")

    def test_a_steady_drift_cancels(self):
        verdict = times(rounds(5, drift=0.01))
        self.assertEqual(verdict.name, "same")
        self.assertLess(abs(verdict.ratio - 1), 0.001)

    def test_one_wild_round_does_not_move_the_median(self):
        samples = rounds(5)
        samples[2] = ([Sample(0.001), Sample(0.9), Sample(0.9), Sample(0.001)], samples[2][1])
        self.assertAlmostEqual(times(samples).ratio, 1.0)

    def test_disturbed_rounds_are_left_out(self):
        good, bad = rounds(4, shift=1.5), rounds(2, shift=9.0, steal=0.03)
        self.assertAlmostEqual(times(good + bad).ratio, 1.5)

    def test_too_many_disturbed_rounds_give_no_verdict(self):
        self.assertEqual(times(rounds(2) + rounds(5, steal=0.03)).name, "disturbed")

    def test_missing_samples_are_left_out(self):
        samples = rounds(5, shift=1.5)
        samples[0] = ([None, *samples[0][0][1:]], samples[0][1])
        samples[1] = (samples[1][0], samples[1][1][:3])
        self.assertEqual(times(samples).name, "slower")
        self.assertEqual(times(samples[:4]).name, "incomplete")
        self.assertEqual(times([]).name, "incomplete")

    def test_quad_is_the_ratio_of_the_middle_to_the_ends(self):
        self.assertAlmostEqual(quad([Sample(1.0), Sample(2.0), Sample(2.0), Sample(1.0)])[0], 2.0)


class HeapMode(unittest.TestCase):
    """A 312,500-byte buffer is above glibc's first mmap threshold: 77 fresh pages an iteration, or none."""

    def mixed(self, base, head):
        def at(factor, faults):
            return Sample(0.001 * factor, faults)

        one = [at(1, base), at(5, head), at(5, head), at(1, base)], [at(1, base)] * 4
        return [one] * 5

    def test_a_side_that_faults_is_found_out_and_not_judged(self):
        verdict = times(self.mixed(0.02, 77.0))
        self.assertEqual(verdict.name, "heap-mode")
        self.assertIn("base 0.0, head 77.0", verdict.note)
        self.assertEqual(times(self.mixed(77.0, 0.02)).name, "heap-mode")

    def test_both_sides_faulting_alike_is_judged(self):
        self.assertEqual(times(self.mixed(77.0, 80.0)).name, "slower")

    def test_no_faults_are_no_finding(self):
        self.assertEqual(heap_mode(self.mixed(0.0, 0.4)), "")


class Workloads(unittest.TestCase):
    def one(self, cpu_head=2.0, delivered_head=1_000_000):
        base = {"cpu": 2.0, "delivered": 1_000_000, "steal": 0.0}
        head = {"cpu": cpu_head, "delivered": delivered_head, "steal": 0.0}
        return [base, head, head, base], [base] * 4

    def test_cpu_per_byte_is_compared(self):
        self.assertEqual(workloads([self.one()] * 4).name, "same")
        self.assertEqual(workloads([self.one(cpu_head=3.0)] * 4).name, "slower")

    def test_a_side_that_delivers_less_is_not_faster(self):
        verdict = workloads([self.one(cpu_head=1.0, delivered_head=500_000)] * 4)
        self.assertEqual(verdict.name, "unequal-delivery")

    def test_nothing_delivered_is_not_compared(self):
        self.assertEqual(workloads([self.one(delivered_head=0)] * 4).name, "unequal-delivery")


class Percentile(unittest.TestCase):
    def test_between_ranks(self):
        self.assertEqual(percentile([3.0], 0.95), 3.0)
        self.assertEqual(percentile([1, 2, 3, 4, 5], 0.5), 3)
        self.assertAlmostEqual(percentile([0, 10], 0.95), 9.5)


if __name__ == "__main__":
    unittest.main()
