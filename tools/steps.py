"""The steps of `just check`, in order: cheap ones first, so that a typo is known before a long build ends.

Lints and tests of the Rust code come from one compile. Apart (`--lint`, `--test`: two machines side by side) they are two.
"""

import dataclasses
import os
import subprocess
import sys
import typing

# clippy-driver in rustc's place for our own crates: lints, denied, and tests come from one compile.
LINTED = {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver", "CLIPPY_ARGS": "-Dwarnings__CLIPPY_HACKERY__"}


BOTH, LINT, TEST = "both", "lint", "test"


@dataclasses.dataclass
class Step:
    """`area` None runs always. `commands` gives the command lines for a scope; the first that fails ends the step.
    `parts` says in which of a whole check (both), its lints alone and its tests alone the step runs."""

    name: str
    area: str | None
    tool: str
    commands: typing.Callable
    env: dict = dataclasses.field(default_factory=dict)
    parts: tuple = (BOTH, LINT)


def always(*commands):
    return lambda touched: [list(command) for command in commands]


def tracked(*patterns):
    """Tracked files, and new ones not ignored, that match the patterns and still exist."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", *patterns],
        capture_output=True, text=True, check=True,
    ).stdout.split("\0")
    gone = subprocess.run(["git", "ls-files", "-z", "--deleted"], capture_output=True, text=True, check=True).stdout.split("\0")
    return [path for path in listed if path and path not in gone]


def is_shell_script(path):
    try:
        with open(path, "rb") as file:
            first = file.readline(80)
    except OSError:
        return False
    return first.startswith(b"#!") and first.rstrip().endswith((b"bash", b"/sh", b" sh"))


def over(files, *commands):
    """Each command with `files()` appended; nothing to do without files."""
    return lambda touched: [[*command, *files()] for command in commands] if files() else []


def shell_scripts():
    return [path for path in tracked() if is_shell_script(path)]


def cargo(*arguments, after=()):
    """A cargo command over the crates in scope."""

    def commands(touched):
        if touched.crates is None:
            return [["cargo", *arguments, "--workspace", *after]]
        packages = [word for name in touched.crates for word in ("--package", name)]
        return [["cargo", *arguments, *packages, *after]] if packages else []

    return commands


def doctests(touched):
    """Only of crates with a library: cargo refuses the others by name."""
    libraries = touched.crates and [name for name in touched.crates if os.path.exists(f"rs/{name}/src/lib.rs")]
    return cargo("test", "--locked", "--doc")(dataclasses.replace(touched, crates=libraries))


def tests(touched):
    profile = ["--profile", "ci"] if strict() else []
    return cargo("nextest", "run", "--locked", "--all-targets", "--no-tests", "pass", *profile)(touched)


python_tests = always(
    [sys.executable, "-m", "unittest", "discover", "--start-directory", "tools"],
    [sys.executable, "-m", "unittest", "discover", "--start-directory", "bench"],
)


def strict():
    return os.environ.get("CI") == "true"


STEPS = [
    Step("typos", None, "typos", always(["typos"])),
    Step("file sizes", "rust", "git", always(["tools/sizes"])),
    Step("layering", "rust", "python3", always([sys.executable, "tools/layering.py"])),
    Step("rustfmt", "rust", "cargo", always(["cargo", "fmt", "--all", "--check"])),
    Step("toml", "toml", "taplo", over(lambda: tracked("*.toml"), ["taplo", "fmt", "--check"])),
    Step("shellcheck", "shell", "shellcheck", over(shell_scripts, ["shellcheck", "--external-sources"])),
    Step("shfmt", "shell", "shfmt", over(shell_scripts, ["shfmt", "--indent", "2", "--diff"])),
    Step("justfiles", "just", "just", lambda touched: [["just", "--fmt", "--check", "--justfile", path] for path in tracked("*justfile", "*.just")]),
    Step("markdown", "markdown", "rumdl", over(lambda: tracked("*.md"), ["rumdl", "check", "--quiet"])),
    Step("flake", "nix", "nix-instantiate", always(["tools/flake-check"])),
    Step("workflows", "workflows", "actionlint", always(["tools/workflows"])),
    Step("zizmor", "workflows", "zizmor", always(["zizmor", "--offline", "--quiet", ".github"])),
    Step("unused dependencies", "rust", "cargo-shear", always(["cargo", "shear"])),
    Step("licences and sources", "rust", "cargo-deny", always(["cargo", "deny", "check", "bans", "licenses", "sources"])),
    Step("python tests", "python", "python3", python_tests, parts=(BOTH, TEST)),
    Step("clippy", "rust", "cargo", cargo("clippy", "--locked", "--all-targets", after=["--", "--deny", "warnings"]), parts=(LINT,)),
    Step("clippy and tests", "rust", "cargo-nextest", tests, LINTED, parts=(BOTH,)),
    Step("tests", "rust", "cargo-nextest", tests, parts=(TEST,)),
    Step("doctests", "rust", "cargo", doctests, LINTED, parts=(BOTH,)),
    Step("doctests", "rust", "cargo", doctests, parts=(TEST,)),
    Step("docs", "rust", "cargo", cargo("doc", "--locked", "--no-deps"), {"RUSTDOCFLAGS": "-D warnings"}),
    Step("quests", "quests", "cargo", always(["cargo", "run", "--locked", "--quiet", "--package", "quest", "--", "check"]), LINTED),
]
