import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as xml

import trend


def row(date, case, value, lane="counts"):
    return {
        "date": date, "revision": f"r{date}", "lane": lane, "case": case, "value": value, "unit": "instructions",
        "ratio": "1.0", "verdict": "same",
    }  # fmt: skip


class Rows(unittest.TestCase):
    def test_one_header_and_all_rows_survive_a_second_day(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trend.csv"
            trend.append(path, [row("2026-12-01", "a:b/c/16", 100)])
            trend.append(path, [row("2026-12-02", "a:b/c/16", 110)])
            self.assertEqual([each["value"] for each in trend.read(path)], ["100", "110"])
            self.assertEqual(path.read_text().count("date,"), 1)
            trend.draw(path)
            self.assertTrue(path.with_suffix(".svg").exists())


class Picture(unittest.TestCase):
    def texts(self, rows):
        root = xml.fromstring(trend.picture(rows))
        return ["".join(each.itertext()) for each in root.iter() if each.tag.endswith("text")]

    def test_is_xml_with_a_panel_a_bench_and_lane(self):
        rows = [row("1", "quic:schedule/move/16", "100"), row("1", "quic:schedule/move/16", "9.5", "time")]
        titles = [text for text in self.texts(rows) if text.startswith("quic:schedule")]
        self.assertEqual(titles, ["quic:schedule: counts", "quic:schedule: time"])

    def test_a_case_is_drawn_relative_to_its_first_value(self):
        rows = [row("1", "a/x<y", "200"), row("2", "a/x<y", "300")]
        self.assertIn("1.50  x<y", self.texts(rows))

    def test_cases_beyond_the_named_are_counted(self):
        rows = [row("1", f"a/{index}", "5") for index in range(12)]
        self.assertIn("and 5 more", self.texts(rows))

    def test_empty_values_and_no_rows_draw(self):
        self.texts([row("1", "a/b", "")])
        self.texts([])


if __name__ == "__main__":
    unittest.main()
