"""What the machine did while something ran: time, CPU, page faults, and the CPU that the host took away."""

import dataclasses
import os
import platform
import subprocess
import tempfile
import threading
import time


@dataclasses.dataclass(frozen=True)
class Usage:
    """One process: wall and CPU seconds, pages it touched first, the share of all CPUs stolen meanwhile, what it said."""

    wall: float
    cpu: float
    faults: int
    steal: float
    status: int
    output: str


def run(command, env=None, timeout=300):
    """Runs to its end with its output (both streams) kept; killed after `timeout` seconds."""
    before, started = cpu_times(), time.monotonic()
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=said, stderr=said, env=env) as child:
        killer = threading.Timer(timeout, child.kill)
        killer.start()
        # wait4 tells this child's own usage; getrusage(RUSAGE_CHILDREN) would add up all of them.
        _, status, used = os.wait4(child.pid, 0)
        killer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - started
        said.seek(0)
        output = said.read().decode(errors="replace")
    return Usage(
        wall, used.ru_utime + used.ru_stime, used.ru_minflt, steal_share(before, cpu_times()), child.returncode, output
    )


def cpu_times():
    """(stolen, all) in ticks since boot, from the first line of /proc/stat; zeros where there is none."""
    try:
        with open("/proc/stat") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
    except OSError:
        return 0, 0
    return fields[7], sum(fields)


def steal_share(before, after):
    ticks = after[1] - before[1]
    return (after[0] - before[0]) / ticks if ticks else 0.0


def describe():
    """What a reader of the results must know to compare them with another day's."""
    flags = ("RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "GLIBC_TUNABLES", "LD_PRELOAD")
    return {
        "kernel": platform.release(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "libc": " ".join(platform.libc_ver()),
        "rustc": said("rustc", "--version"),
        "valgrind": said("valgrind", "--version"),
        "environment": {name: value for name, value in os.environ.items() if name in flags or name.startswith("MALLOC_")},
    }


def cpu_model():
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    except OSError:
        return platform.processor() or "unknown"


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return "not installed"
