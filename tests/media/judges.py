"""What other people's tools, and a few lines of arithmetic, say of a transport stream."""

import collections
import re
import subprocess

PACKET = 188
PCR_MODULUS = (1 << 33) * 300


def output(*command):
    """Standard output of a command; its failure is an error with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def hashes(path):
    """MD5 of each elementary stream, as ffmpeg takes it apart."""
    lines = output("ffmpeg", "-v", "error", "-i", path, "-map", "0", "-c", "copy", "-f", "streamhash", "-hash", "md5", "-")
    return sorted(re.sub(r"^\d+,", "", line) for line in lines.split())


def times(path):
    """Presentation and decode times of every packet, by stream."""
    entries = "packet=stream_index,pts,dts"
    streams = collections.defaultdict(list)
    for line in output("ffprobe", "-v", "error", "-show_entries", entries, "-of", "csv=p=0", path).split():
        stream, pts, dts = line.split(",")[:3]
        streams[stream].append((pts, dts))
    return dict(streams)


def time_shifts(before, after):
    """Every difference there is between the times of two files; one, when nothing but a constant changed."""
    shifts = set()
    if before.keys() != after.keys():
        return {"other streams"}
    for stream, stamps in before.items():
        if len(stamps) != len(after[stream]):
            return {f"stream {stream}: {len(stamps)} packets became {len(after[stream])}"}
        for old, new in zip(stamps, after[stream]):
            for a, b in zip(old, new):
                shifts.add(int(b) - int(a) if "N/A" not in (a, b) else f"{a} became {b}")
    return shifts


def complaints(path):
    """What ffmpeg says while it decodes everything."""
    command = ["ffmpeg", "-v", "error", "-xerror", "-i", path, "-f", "null", "-"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stderr.strip() or (f"status {done.returncode}" if done.returncode else "")


def clocks(path):
    """Byte position and value of every PCR, unwrapped, in ticks of 27 MHz."""
    points = []
    with open(path, "rb") as file:
        data = file.read()
    for at in range(0, len(data) - PACKET + 1, PACKET):
        packet = data[at : at + PACKET]
        if packet[0] != 0x47:
            raise RuntimeError(f"no sync byte at {at}")
        if packet[3] & 0x20 and packet[4] >= 7 and packet[5] & 0x10:
            base = int.from_bytes(packet[6:11], "big") >> 7
            value = base * 300 + ((packet[10] & 1) << 8 | packet[11])
            if points:
                value += round((points[-1][1] - value) / PCR_MODULUS) * PCR_MODULUS
            points.append((at + 10, value))
    return points


def clock_error(points, rate):
    """Largest distance of a PCR from its byte position at `rate` bit/s, in ns, after fitting the offset."""
    errors = [value * rate - position * 8 * 27_000_000 for position, value in points]
    return (max(errors) - min(errors)) / 2 / rate * 1e9 / 27e6


def clock_gaps(points):
    """Shortest and longest distance of two PCRs, in ms."""
    gaps = [(b[1] - a[1]) / 27_000 for a, b in zip(points, points[1:])]
    return min(gaps), max(gaps)


def tsreport(path):
    """The bad gaps and the prediction errors that tsreport finds in the clock."""
    text = output("tsreport", "-buffering", path)
    bad = re.search(r"Bad \(>\.1s\) gaps: (\d+)", text)
    errors = re.search(r"prediction errors: min=(-?\d+)t, max=(-?\d+)t", text)
    if not bad or not errors:
        raise RuntimeError("tsreport found no clock")
    return int(bad[1]), max(abs(int(errors[1])), abs(int(errors[2])))
