import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import re
import sys
import unittest
from unittest import mock

import scope
import steps
from steps import BOTH, LINT, TEST, Step

HERE = pathlib.Path(__file__).resolve().parent


def load(name):
    """A script without the ending .py as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


check = load("check")
PASS, FAIL = [sys.executable, "-c", ""], [sys.executable, "-c", "raise SystemExit(1)"]


def step(name, command, tool="python3", area=None):
    return Step(name, area, tool, steps.always(command))


class Check(unittest.TestCase):
    def run_steps(self, *table, ci=""):
        """(exit status or message, what was printed) of a check of everything with these steps."""
        out = io.StringIO()
        with (
            mock.patch.object(steps, "STEPS", list(table)),
            mock.patch.dict(os.environ, {"CI": ci}),
            contextlib.redirect_stdout(out),
        ):
            try:
                check.main([])
            except SystemExit as ended:
                return ended.code, out.getvalue()
        return None, out.getvalue()

    def test_passes_when_every_step_does(self):
        status, said = self.run_steps(step("one", PASS), step("two", PASS))
        self.assertIsNone(status)
        self.assertIn("check: passed", said)

    def test_runs_every_step_and_names_all_that_failed(self):
        status, _ = self.run_steps(step("one", FAIL), step("two", PASS), step("three", FAIL))
        self.assertEqual(status, "check: failed: one, three")

    def test_a_missing_tool_is_one_line_here(self):
        status, said = self.run_steps(step("one", PASS, tool="no-such-tool"))
        self.assertIsNone(status)
        self.assertIn("check: one skipped: no no-such-tool on PATH (tools/setup installs it)", said)

    def test_a_missing_tool_is_an_error_in_ci(self):
        status, _ = self.run_steps(step("one", PASS, tool="no-such-tool"), ci="true")
        self.assertEqual(status, "check: failed: one")


class Table(unittest.TestCase):
    def test_every_area_has_a_step(self):
        self.assertEqual({each.area for each in steps.STEPS} - {None}, scope.AREAS)

    def test_a_whole_check_is_its_lints_and_its_tests(self):
        names = {part: {each.name for each in steps.STEPS if part in each.parts} for part in (BOTH, LINT, TEST)}
        self.assertEqual(names[BOTH] - {"clippy and tests"}, (names[LINT] | names[TEST]) - {"clippy", "tests"})

    def test_no_crates_give_no_cargo_command(self):
        for each in (steps.tests, steps.doctests, steps.cargo("doc")):
            self.assertEqual(each(scope.Scope({"rust"}, [])), [])


class Nightly(unittest.TestCase):
    def test_the_workflow_runs_exactly_the_parts_of_the_script(self):
        script = (HERE / "nightly").read_text()
        workflow = (HERE.parent / ".github/workflows/nightly.yml").read_text()
        parts = re.search(r"^parts=\((.*)\)$", script, re.MULTILINE)[1].split()
        matrix = re.search(r"part: \[(.*)\]", workflow)[1].split(", ")
        self.assertEqual(parts, matrix)


if __name__ == "__main__":
    unittest.main()
