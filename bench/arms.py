"""The three arms, built: base (A), base again (A2), head (B).

All are checked out at one path, one after the other, so that nothing but their sources can differ in the binaries. HEAD's
bench sources, manifests and lockfile are laid over the base where they compile there: then both run the same cases.
"""

import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "bench/work"
TREE = WORK / "tree"


@dataclasses.dataclass
class Arm:
    """`benches` maps "package:target" to its executable, `commands` the name of a command to its own."""

    name: str
    revision: str
    benches: dict
    commands: dict
    notes: list

    def describe(self):
        files = self.benches | self.commands
        hashes = {name: hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16] for name, path in files.items()}
        return {"revision": self.revision, "binaries": hashes, "notes": self.notes}


def build(base, packages=(), say=print, head_env=None):
    """Builds and returns (A, A2, B). `packages` limits the benches to those crates; `head_env` is B's build alone."""
    base, head = revision(base), revision("HEAD")
    WORK.mkdir(exist_ok=True)
    say(f"base {base[:12]} → A")
    checkout(base)
    notes = lay_over_head()
    a = Arm("A", base, *compile_tree("a", packages, notes), notes)

    say("base again → A2")
    copy_dependencies("a", "a2")
    a2 = Arm("A2", base, *compile_tree("a2", packages, notes), notes)

    say(f"head {head[:12]}{' and uncommitted changes' if dirty() else ''} → B")
    copy_dependencies("a", "b")
    checkout(head)
    patch = lay_over_changes()
    notes = [f"uncommitted changes, sha256 {patch}"] if patch else []
    b = Arm("B", head, *compile_tree("b", packages, notes, head_env), notes)
    return a, a2, b


def revision(name):
    done = subprocess.run(["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"bench: {name} is no revision of this repository")
    return done.stdout.strip()


def dirty():
    return bool(git("status", "--porcelain", "--untracked-files=no"))


def git(*arguments, cwd=ROOT):
    return subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, check=True).stdout


def checkout(commit):
    git("worktree", "prune")
    if (TREE / ".git").exists():
        git("checkout", "--quiet", "--force", "--detach", commit, cwd=TREE)
        git("clean", "-ffdxq", cwd=TREE)
    else:
        shutil.rmtree(TREE, ignore_errors=True)
        git("worktree", "add", "--quiet", "--force", "--detach", str(TREE), commit)


def lay_over_head():
    """HEAD's lockfile, manifests and benches over the base; crate by crate back to its own where they don't compile."""
    notes = []
    members = [home for home in members_of(ROOT) if (TREE / home / "Cargo.toml").exists()]
    shutil.copy(ROOT / "Cargo.lock", TREE)
    manifest = (ROOT / "Cargo.toml").read_text()
    listed = ", ".join(f'"{home}"' for home in members)
    (TREE / "Cargo.toml").write_text(re.sub(r"(?s)members = \[.*?\]", f"members = [{listed}]", manifest, count=1))
    for home in members:
        lay_over(home)
    if metadata() is None:
        checkout(git("rev-parse", "HEAD", cwd=TREE).strip())
        return ["its own manifests and benches: head's don't fit it"]
    for home in members:
        if not has_benches(home):
            continue
        if cargo_check(home):
            notes.append(f"{home}: head's benches")
        else:
            git("checkout", "--", home, cwd=TREE)
            git("clean", "-fdq", "--", f"{home}/benches", cwd=TREE)
            notes.append(f"{home}: its own benches, head's don't compile there")
    return notes


def members_of(root):
    return tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["members"]


def has_benches(home):
    return (TREE / home / "benches").is_dir()


def lay_over(home):
    shutil.copy(ROOT / home / "Cargo.toml", TREE / home)
    if (ROOT / home / "benches").is_dir():
        shutil.rmtree(TREE / home / "benches", ignore_errors=True)
        shutil.copytree(ROOT / home / "benches", TREE / home / "benches")


def cargo_check(home):
    package = tomllib.loads((TREE / home / "Cargo.toml").read_text())["package"]["name"]
    command = ["cargo", "check", "--quiet", "--release", "--bench", "*", "--package", package, "--target-dir", str(WORK / "target-check")]
    return subprocess.run(command, cwd=TREE, capture_output=True).returncode == 0


def lay_over_changes():
    """Uncommitted changes of tracked files over HEAD; their hash, or None."""
    patch = git("diff", "--binary", "HEAD")
    if not patch:
        return None
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=TREE, input=patch, text=True, check=True)
    return hashlib.sha256(patch.encode()).hexdigest()[:16]


def copy_dependencies(source, target):
    """A second target folder with the dependencies built and our own crates not."""
    shutil.rmtree(WORK / f"target-{target}", ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", WORK / f"target-{source}", WORK / f"target-{target}"], check=True)
    names = [word for package in metadata()["packages"] for word in ("--package", package["name"])]
    subprocess.run(["cargo", "clean", "--quiet", "--release", "--target-dir", WORK / f"target-{target}", *names], cwd=TREE, check=True)


def metadata():
    """What cargo makes of the tree; None if it can't be read."""
    command = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True)
    return None if done.returncode else json.loads(done.stdout)


def compile_tree(target, packages, notes, env=None):
    """(benches, commands) of the tree as it stands. What fails to build is noted and left out."""
    if metadata() is None:
        raise SystemExit(f"bench: cargo can't read the tree of arm {target}: try `cargo metadata` in {TREE}")
    chosen = [word for name in packages for word in ("--package", name)] or ["--workspace"]
    command = [
        "cargo", "build", "--release", "--bench", "*", "--bins", "--keep-going", *chosen,
        "--target-dir", str(WORK / f"target-{target}"), "--message-format", "json-render-diagnostics",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, text=True, env=env)
    if done.returncode:
        notes.append("some targets don't build")
    benches, commands = {}, {}
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact" or not message.get("executable"):
            continue
        kind, name = message["target"]["kind"], message["target"]["name"]
        package = pathlib.Path(message["manifest_path"]).parent.name
        if kind == ["bench"]:
            benches[f"{package}:{name}"] = message["executable"]
        elif kind == ["bin"]:
            commands[name] = message["executable"]
    return benches, commands
