"""What a change touches: changed paths → areas to check and crates to build.

Used by tools/check. When in doubt it selects more, never less. Tested by test_scope.py.
"""

import dataclasses
import json
import pathlib
import re
import subprocess

# The first match decides. "everything" is the machinery itself; "all crates" is what every build reads.
RULES = [
    (r"tools/(check|scope\.py|steps\.py|setup|requirements\.txt|package(-lock)?\.json)|\.ci/.*|justfile", "everything"),
    (r"Cargo\.(toml|lock)|rust-toolchain\.toml|(clippy|rustfmt|deny)\.toml|\.config/.*|\.cargo/.*", "all crates"),
    (r"quest/.*", "quests"),
    (r"rs/.*", "crate of the path"),
    (r"\.github/.*", "workflows"),
    (r"flake\.(nix|lock)|tools/.*\.nix", "nix"),
    (r"(tools|bench)/.*\.(py|toml)|bench/\w+|tools/soak", "python"),
]
# These go by kind of file, beside the rules above.
KINDS = [(r".*\.md", "markdown"), (r".*\.toml", "toml"), (r".*justfile|.*\.just", "just")]
AREAS = {"rust", "quests", "workflows", "nix", "python", "markdown", "toml", "just", "shell"}


@dataclasses.dataclass
class Scope:
    """`crates` is None for the whole workspace, else names, sorted; empty means none."""

    areas: set
    crates: list | None


EVERYTHING = Scope(AREAS, None)


def changed_paths(base):
    """Paths that differ between the work tree (untracked files too) and where it left `base`."""
    root = git("merge-base", base, "HEAD").strip()
    names = git("diff", "--name-only", "--no-renames", "-z", root)
    names += git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted(set(filter(None, names.split("\0"))))


def git(*arguments):
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"check: git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def workspace():
    """Crate directory, relative to the root → (name, directories of its path dependencies)."""
    done = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version=1"], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"check: cargo metadata: {done.stderr.strip()}")
    metadata = json.loads(done.stdout)
    root = pathlib.Path(metadata["workspace_root"])
    crates = {}
    for package in metadata["packages"]:
        home = pathlib.Path(package["manifest_path"]).parent.relative_to(root)
        paths = [dependency.get("path") for dependency in package["dependencies"]]
        crates[str(home)] = (
            package["name"],
            {str(pathlib.Path(path).relative_to(root)) for path in paths if path},
        )
    return crates


def dependents(seeds, crates):
    """The seeds and everything that stands on them, as sorted names."""
    reached, grown = set(), set(seeds)
    while grown != reached:
        reached = grown
        grown = reached | {home for home, (_, stands_on) in crates.items() if stands_on & reached}
    return sorted(crates[home][0] for home in reached)


def scope(paths, crates, is_script=lambda path: False):
    """The areas and crates that `paths` reach; `is_script` tells a shell script by its first line."""
    areas, seeds, all_crates = set(), set(), False
    for path in paths:
        rule = next((area for pattern, area in RULES if re.fullmatch(pattern, path)), None)
        areas |= {area for pattern, area in KINDS if re.fullmatch(pattern, path)}
        if is_script(path):
            areas.add("shell")
        if rule == "everything":
            return EVERYTHING
        if rule == "all crates":
            all_crates = True
        elif rule == "crate of the path":
            homes = [home for home in crates if path.startswith(home + "/")]
            if homes:
                seeds.add(max(homes, key=len))
            else:
                all_crates = True
        elif rule:
            areas.add(rule)
    if all_crates or seeds:
        areas.add("rust")
    return Scope(areas, None if all_crates else dependents(seeds, crates))
