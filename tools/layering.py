"""Fails when a layer knows what it may not: tools/layers.toml says which words are forbidden where.

Works on text, not on types, so that it runs in a moment: comments, strings and `#[cfg(test)]` items are blanked first,
and test files (tests.rs, tests/, *_tests.rs) are not read. Tested by test_layering.py.
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Longest first: a raw string may hold quotes, a block comment may hold strings. Nested block comments are not supported.
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(?P<hashes>\#+)".*?"(?P=hashes)|b?r?"(?:\\.|[^"\\])*"|b?'(?:\\.|[^'\\\n])'""", re.DOTALL
)


def code_only(source):
    """The source with comments, strings and test items blanked; every line keeps its number."""
    return without_tests(NOT_CODE.sub(lambda hit: re.sub(r"[^\n]", " ", hit.group()), source))


def without_tests(code):
    for hit in re.finditer(r"#\[cfg\((?:test|all\(test\b[^]]*)\)\]", code):
        end = end_of_item(code, hit.end())
        blank = re.sub(r"[^\n]", " ", code[hit.start() : end])
        code = code[: hit.start()] + blank + code[end:]
    return code


def end_of_item(code, start):
    """Where the item that begins at `start` ends: its semicolon, or the brace that closes its first one."""
    depth = 0
    for position in range(start, len(code)):
        character = code[position]
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth <= 0:
                return position + 1
        elif character == ";" and depth == 0:
            return position + 1
    return len(code)


def is_test_file(path):
    return path.name in ("tests.rs", "test.rs") or path.name.endswith("_tests.rs") or "tests" in path.parts


def sources(path):
    return sorted(path.rglob("*.rs")) if path.is_dir() else [path]


def violations(root, layers):
    """Lines of the form `path:line: message`."""
    words = {name: re.compile(r"(?<![\w])(?:" + "|".join(each) + r")(?!\w)") for name, each in layers["words"].items()}
    found = []
    for layer in layers["layer"]:
        for place in layer["paths"]:
            if not (root / place).exists():
                found.append(f"tools/layers.toml:1: {place} does not exist: name where the layer is now")
                continue
            for path in sources(root / place):
                if is_test_file(path.relative_to(root)):
                    continue
                for number, line in enumerate(code_only(path.read_text()).splitlines(), 1):
                    for name in layer["forbidden"]:
                        if hit := words[name].search(line):
                            relative = path.relative_to(root)
                            found.append(f"{relative}:{number}: {hit.group()} ({name}) may not be used in {place}")
    return sorted(set(found))


if __name__ == "__main__":
    lines = violations(ROOT, tomllib.loads((ROOT / "tools/layers.toml").read_text()))
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(bool(lines))
