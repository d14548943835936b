"""The relay under load: one arm's relay at a time on loopback, HEAD's load generator on all of them.

Each file of workloads/ is the shape of the traffic, in the options of bench/load. What counts is the relay's CPU time for
each byte delivered; how late they came is recorded beside it.
"""

import contextlib
import dataclasses
import json
import pathlib
import socket
import subprocess
import time
import tomllib

import lanes
import machine
import reduce

SHAPES = pathlib.Path(__file__).resolve().parent / "workloads"
# A run takes ten seconds and more: fewer rounds than a bench, still enough for a median.
ROUNDS = reduce.LEAST_ROUNDS


def lane(built, wanted, say):
    """Every workload whose name is `wanted`, on the relays of the three arms."""
    say("\nworkloads: CPU of the relay for each delivered byte")
    relays = {arm.name: arm.commands.get("moq") for arm in built}
    load = built[-1].commands.get("load")
    cases, orders = {}, {}
    for path in sorted(SHAPES.glob("*.toml")):
        name = f"workload/{path.stem}"
        if not wanted(name):
            continue
        if not load or None in relays.values():
            verdict, rounds = reduce.Verdict("incomplete", note="no relay or no load generator in one of the arms"), []
        else:
            shape = tomllib.loads(path.read_text())
            rounds, orders[name] = lanes.rounds(lambda arm: run(relays[arm], load, shape), ROUNDS)
            verdict = reduce.workloads(rounds)
        cases[name] = {"verdict": dataclasses.asdict(verdict), "raw": rounds}
        say(f"  {verdict.name:17} {verdict.ratio and f'{verdict.ratio:.3f}' or '–'}  {name}  {summary(rounds)}{verdict.note}")
    return {"cases": cases, "order": orders}


def run(moq, load, shape, begun=lambda pid: None):
    """One relay, one load: what `load` reports, with `cpu`, `delivered` and `steal` for the reducer; None if it failed.
    `begun` is called with the relay's process id once it listens."""
    options = [word for name, value in shape.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    with relay(moq) as (address, pid):
        begun(pid)
        before = machine.cpu_times()
        done = subprocess.run([load, "--relay", address, "--relay-pid", str(pid), *options], stdout=subprocess.PIPE, text=True)
        steal = machine.steal_share(before, machine.cpu_times())
    if done.returncode:
        return None
    report = json.loads(done.stdout)
    return report | {"cpu": report["relay_cpu"], "delivered": report["delivered_bytes"], "steal": steal}


@contextlib.contextmanager
def relay(moq):
    """(address, process id) of a relay that lets anyone in, up until the block ends."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    command = [moq, "relay", "--listen", address, "--tls-generate", "localhost", "--auth-public", "**"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            wait_for_port(port, child)
            yield address, child.pid
        finally:
            child.kill()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, child):
    for _ in range(100):
        if child.poll() is not None:
            raise SystemExit(f"bench: the relay ended at once with status {child.returncode}")
        if f":{port:04X} " in pathlib.Path("/proc/net/udp").read_text():
            return
        time.sleep(0.05)
    raise SystemExit("bench: the relay did not begin to listen within 5 s")


def head_runs(rounds):
    return [run for quad, _ in rounds for run in quad[1:3] if run]


def head_value(rounds):
    """Nanoseconds of CPU a delivered byte: the median of HEAD's runs."""
    each = sorted(run["cpu"] / run["delivered"] * 1e9 for run in head_runs(rounds) if run["delivered"])
    return f"{each[len(each) // 2]:.3f}" if each else ""


def summary(rounds):
    """HEAD's middle run in words."""
    runs = sorted(head_runs(rounds), key=lambda run: run["cpu"])
    if not runs:
        return ""
    middle = runs[len(runs) // 2]
    return (
        f"{middle['delivered_frames']}/{middle['expected_frames']} frames, {middle['relay_cpu']:.2f} CPU-s, "
        f"p50 {middle['latency_p50']:.1f} ms, p99 {middle['latency_p99']:.1f} ms, {middle['relay_peak_memory'] >> 20} MiB; "
    )
