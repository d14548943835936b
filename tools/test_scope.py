import unittest

from scope import AREAS, EVERYTHING, dependents, scope

CRATES = {
    "rs/quic": ("quic", set()),
    "rs/net": ("net", {"rs/quic"}),
    "rs/mux": ("mux", {"rs/net"}),
    "rs/quest": ("quest", set()),
    "rs/quic/fuzz": ("quic-fuzz", {"rs/quic"}),
}


class Dependents(unittest.TestCase):
    def test_reach_everything_that_stands_on_a_seed(self):
        self.assertEqual(dependents({"rs/quic"}, CRATES), ["mux", "net", "quic", "quic-fuzz"])

    def test_of_a_leaf_are_itself(self):
        self.assertEqual(dependents({"rs/mux"}, CRATES), ["mux"])

    def test_of_nothing_are_nothing(self):
        self.assertEqual(dependents(set(), CRATES), [])


class Scope(unittest.TestCase):
    def of(self, *paths, is_script=lambda path: False):
        return scope(paths, CRATES, is_script)

    def test_nothing_changed(self):
        self.assertEqual(self.of(), type(EVERYTHING)(set(), []))

    def test_a_crates_source_selects_it_and_its_dependents(self):
        found = self.of("rs/net/src/lib.rs")
        self.assertEqual((found.areas, found.crates), ({"rust"}, ["mux", "net"]))

    def test_the_deepest_crate_wins(self):
        self.assertEqual(self.of("rs/quic/fuzz/a.rs").crates, ["quic-fuzz"])

    def test_a_crates_manifest_is_toml_too(self):
        self.assertEqual(self.of("rs/quest/Cargo.toml").areas, {"rust", "toml"})

    def test_an_unknown_path_beneath_rs_selects_every_crate(self):
        self.assertIsNone(self.of("rs/new/src/lib.rs").crates)

    def test_what_every_build_reads_selects_every_crate(self):
        for path in ["Cargo.toml", "Cargo.lock", "clippy.toml", "rust-toolchain.toml", ".config/nextest.toml"]:
            self.assertIsNone(self.of(path).crates, path)

    def test_the_machinery_selects_everything(self):
        for path in ["justfile", ".ci/run", "tools/check", "tools/scope.py", "tools/requirements.txt"]:
            self.assertEqual(self.of("README.md", path), EVERYTHING, path)

    def test_kinds_of_file(self):
        cases = {
            "README.md": {"markdown"},
            "quest/m0/x.md": {"markdown", "quests"},
            "flake.nix": {"nix"},
            "tools/flake-check.nix": {"nix"},
            "typos.toml": {"toml"},
            "bench/reduce.py": {"python"},
            "bench/workloads/video.toml": {"python", "toml"},
            ".github/workflows/check.yml": {"workflows"},
            "rs/net/README.md": {"rust", "markdown"},
        }
        for path, areas in cases.items():
            self.assertEqual(self.of(path).areas, areas, path)

    def test_a_script_is_known_by_its_first_line(self):
        found = self.of("tools/sizes", "LICENSE-MIT", is_script=lambda path: path == "tools/sizes")
        self.assertEqual(found.areas, {"shell"})

    def test_everything_is_every_area(self):
        self.assertEqual(EVERYTHING.areas, AREAS)


if __name__ == "__main__":
    unittest.main()
