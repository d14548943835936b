# The menu: one line a recipe, the logic in tools/ and bench/. `just` alone lists it.

export PATH := justfile_directory() / ".tools/bin:" + env("PATH")

[private]
default:
    @just --list --unsorted

# Install the pinned tools into .tools/
setup:
    tools/setup

# Everything a change must pass; with BASE, only what differs from it and its dependents
check *BASE:
    tools/check {{ BASE }}

# Format and fix what can be fixed by machine
fix:
    tools/fix
