# The menu: one line a recipe, the logic in tools/ and bench/. `just` alone lists it.

export PATH := justfile_directory() / ".tools/bin:" + env("PATH")

[private]
default:
    @just --list --unsorted

# Install the pinned tools into .tools/
setup:
    tools/setup

# Everything a change must pass; with BASE, only what differs from it and its dependents (--lint, --test: half of it)
check *BASE:
    tools/check {{ BASE }}

# Format and fix what a machine can fix
fix:
    tools/fix

# Unit and integration tests, each in its own process; a hang is killed and named
test *ARGS:
    cargo nextest run --workspace --all-targets {{ ARGS }}

# Examples in the documentation
doctest *ARGS:
    cargo test --workspace --doc {{ ARGS }}

# See the whole path: relay, publisher and subscriber over QUIC, then a table
demo *ARGS:
    cargo run --release -p moq-cli -- demo {{ ARGS }}

# Interop with published peers
peers *ARGS:
    tests/peers/run {{ ARGS }}

# Transport streams through the relay, judged by other people's tools
media *ARGS:
    tests/media/run {{ ARGS }}

# Nothing: every bench once; a name: its table (schedule streams net ts pace throughput peers); BASE: paired comparison
bench *WHAT:
    bench/run {{ WHAT }}

# The paired runner against itself, a slowed build, and another heap mode
bench-selftest:
    bench/selftest

# Fuzz TARGET for SECONDS (60); without arguments, list the targets
fuzz *TARGET:
    tools/fuzz {{ TARGET }}

# Line coverage of the tests
cover *ARGS:
    tools/cover {{ ARGS }}

# The relay with 200 subscribers over real sockets for five minutes
soak *ARGS:
    tools/soak {{ ARGS }}

# What the nightly workflow runs, or one PART of it
nightly *PART:
    tools/nightly {{ PART }}

# Plans in quest/: `just quest check`, `just quest ready [PATH]`
quest *ARGS:
    cargo run --quiet -p quest -- {{ ARGS }}
