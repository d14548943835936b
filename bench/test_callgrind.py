import unittest

from callgrind import Count, parse

# The shape of what callgrind 3.19 writes with --dump-instr=yes --compress-pos=no --compress-strings=no.
PROFILE = """\
version: 1
events: Ir
positions: instr line
summary: {summary}

fl=bench.rs
fn=bench::measured_push
0x1000 10 5
cfn=malloc
calls=643 3281
0x1004 11 900
fl=malloc.c
fn=malloc
0x2004 20 12
0x2000 19 4
cfn=_int_malloc
calls=99 1
0x2000 21 7000
fn=realloc
0x3000 30 2
fn=_int_malloc
0x4000 40 5000

totals: {totals}
"""


class Parse(unittest.TestCase):
    def test_instructions_are_the_summary(self):
        self.assertEqual(parse(PROFILE.format(summary=12_345, totals=12_345)).instructions, 12_345)

    def test_a_region_that_dumped_nothing_counts_nothing(self):
        self.assertEqual(parse("summary: 0\ntotals: 0\n"), Count(0, 0))

    def test_allocations_are_runs_of_the_first_instruction_and_not_calls_since_the_start(self):
        self.assertEqual(parse(PROFILE.format(summary=1, totals=1)).allocations, 4 + 2)


if __name__ == "__main__":
    unittest.main()
