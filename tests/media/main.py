"""Each sample stream is published through a relay and subscribed to; what comes out is compared with what went in."""

import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import judges

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The clips in the tree; the larger samples beside it, where they are.
PLACES = ["rs/moq-mux/tests/data/*.ts", "rs/moq-cli/assets/*.ts", "../shared/media/*.ts"]
# The longest a PCR may be from its byte position, in ns: one tick of 27 MHz.
TICK = 37.1
PATIENCE = 60


def samples():
    """Sample files, each name once."""
    found = {}
    for place in PLACES:
        for path in sorted(ROOT.glob(place) if not place.startswith("..") else ROOT.parent.glob(place[3:])):
            found.setdefault(path.name, path)
    return list(found.values())


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def carry(moq, port, source, target, paced):
    """Publishes `source` and writes what a subscriber of it gets to `target`."""
    name = f"media/{source.stem}"
    to_relay = ["--connect", f"https://localhost:{port}", "--tls-insecure", "--broadcast", name]
    subscriber = subprocess.Popen(
        [moq, "subscribe", *to_relay, "--output", target], stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )
    try:
        publish = [moq, "publish", *to_relay, *([] if paced else ["--no-pace"]), str(source)]
        subprocess.run(publish, check=True, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        _, said = subscriber.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"{late.cmd[1]} did not end within {PATIENCE} s") from late
    except subprocess.CalledProcessError as failed:
        raise RuntimeError(f"publish: {failed.stderr.strip()[-300:]}") from failed
    finally:
        subscriber.kill()
        subscriber.wait()
    if subscriber.returncode != 0:
        raise RuntimeError(f"subscribe: {said.strip()[-300:]}")


def judge(moq, source, target):
    """Everything wrong with `target`, as it came from `source`."""
    before, after = judges.hashes(source), judges.hashes(target)
    if before != after:
        yield f"elementary streams changed: {before} became {after}"
    shifts = judges.time_shifts(judges.times(source), judges.times(target))
    if len(shifts) != 1 or not isinstance(next(iter(shifts)), int):
        yield f"times moved unevenly: {sorted(map(str, shifts))[:6]}"
    if said := judges.complaints(target):
        yield f"ffmpeg complains: {said[:300]}"
    checked = subprocess.run([moq, "check", "--json", target], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    report = json.loads(checked.stdout)
    if checked.returncode != 0 or not report["constant_rate"]:
        yield f"moq check: status {checked.returncode}, {json.dumps(report.get('findings'))[:400]}"
    points = judges.clocks(target)
    error = judges.clock_error(points, report["rate"])
    if error > TICK:
        yield f"the clock is {error:.1f} ns off its byte position at {report['rate']} b/s"
    packet = judges.PACKET * 8 / report["rate"] * 1e3
    low, high = judges.clock_gaps(points)
    if low < 25 - packet - 0.001 or high > 25 + packet + 0.001:
        yield f"clock references are {low:.3f} to {high:.3f} ms apart"
    bad, ticks = judges.tsreport(target)
    if bad or ticks > 1:
        yield f"tsreport: {bad} gaps, prediction off by {ticks} ticks"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moq", help="the program to test; built if not given")
    moq = parser.parse_args().moq
    if not moq:
        subprocess.run(["cargo", "build", "--quiet", "-p", "moq-cli"], cwd=ROOT, check=True)
        target = json.loads(judges.output("cargo", "metadata", "--format-version", "1", "--no-deps"))["target_directory"]
        moq = f"{target}/debug/moq"
    port = free_port()
    relay = subprocess.Popen(
        [moq, "relay", "--listen", f"127.0.0.1:{port}", "--tls-generate", "localhost", "--auth-public", "**"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    relay.stdout.readline()
    failed = passed = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            cases = [(source, False) for source in samples()]
            # One at its own pace: the way a live feed goes.
            cases.append((ROOT / "rs/moq-mux/tests/data/audio-only-aac.ts", True))
            for source, paced in cases:
                started = time.monotonic()
                target = f"{folder}/{source.name}"
                try:
                    carry(moq, port, source, target, paced)
                    problems = list(judge(moq, str(source), target))
                except (RuntimeError, ValueError, OSError) as error:
                    problems = [str(error)]
                failed, passed = failed + bool(problems), passed + (not problems)
                how = "paced" if paced else "at once"
                print(f"{'FAIL' if problems else 'ok  '} {source.name} {how} ({time.monotonic() - started:.1f} s)")
                for problem in problems:
                    print(f"     {problem}")
    finally:
        relay.terminate()
        relay.wait()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
