import pathlib
import tempfile
import unittest

from layering import code_only, violations

WORDS = {"clock": ["Instant::now"], "runtime": ["tokio", "thread::sleep"], "writer": ["slot::"]}


class CodeOnly(unittest.TestCase):
    def test_blanks_what_is_not_code_and_keeps_line_numbers(self):
        cases = {
            "// tokio": "",
            "a /* tokio\n tokio */ b": "a  \n b",
            'x("tokio \\" tokio") + y': "x() + y",
            'r#"a " tokio"# z': " z",
            "'\"' tokio '\"'": " tokio ",
            "fn f<'a>(x: &'a str) {}": "fn f<'a>(x: &'a str) {}",
            "#[cfg(test)]\nmod tests { use tokio; fn f() {} }\nfn g() {}": "\n\nfn g() {}",
            "#[cfg(test)]\nmod tests;\nfn g() {}": "\n\nfn g() {}",
        }
        for source, expected in cases.items():
            found = code_only(source)
            self.assertEqual(found.replace(" ", ""), expected.replace(" ", ""), source)
            self.assertEqual(found.count("\n"), source.count("\n"), source)


class Violations(unittest.TestCase):
    def of(self, files, *layers):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            table = [{"paths": [place], "forbidden": forbidden} for place, forbidden in layers]
            return violations(root, {"words": WORDS, "layer": table})

    def test_a_runtime_in_a_core(self):
        found = self.of({"core/a.rs": "fn f() {}\nuse tokio::time;\n"}, ("core", ["clock", "runtime"]))
        self.assertEqual(found, ["core/a.rs:2: tokio (runtime) may not be used in core"])

    def test_a_clock_in_a_core(self):
        found = self.of({"core/a.rs": "let t = std::time::Instant::now();"}, ("core", ["clock"]))
        self.assertEqual(found, ["core/a.rs:1: Instant::now (clock) may not be used in core"])

    def test_only_the_named_words_and_only_in_the_layer(self):
        files = {"core/a.rs": "use tokio;", "edge/a.rs": "use tokio; Instant::now()"}
        self.assertEqual(self.of(files, ("core", ["clock"])), [])

    def test_whole_words(self):
        self.assertEqual(self.of({"core/a.rs": "tokio_like(); my_tokio();"}, ("core", ["runtime"])), [])

    def test_tests_may_use_what_they_like(self):
        files = {"core/tests.rs": "tokio", "core/tests/a.rs": "tokio", "core/a_tests.rs": "tokio", "core/a.rs": ""}
        self.assertEqual(self.of(files, ("core", ["runtime"])), [])

    def test_a_single_file_is_a_layer(self):
        found = self.of({"core.rs": "tokio", "edge.rs": "tokio"}, ("core.rs", ["runtime"]))
        self.assertEqual(found, ["core.rs:1: tokio (runtime) may not be used in core.rs"])

    def test_a_layer_that_moved_is_told(self):
        found = self.of({}, ("core", ["clock"]))
        self.assertEqual(found, ["tools/layers.toml:1: core does not exist: name where the layer is now"])


if __name__ == "__main__":
    unittest.main()
