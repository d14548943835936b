//! What importing costs: 100 Mb/s of H.264 with AAC beside it, published into a broadcast or only looked at.
//!
//! `import/<bytes a push>` publishes, `scan` finds the facts and publishes nothing. The stream is one second of made-up
//! pictures, a key picture first. Set beside `ffmpeg -c copy` in one run by the bench scripts.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use moq_mux::import::{Import, ImportConfig, scan};
use moq_net::{Broadcast, Pool};

#[path = "../tests/support/mux.rs"]
#[allow(dead_code, reason = "the bench needs only what makes streams")]
mod mux;

use mux::{Field, Mux, aac, picture};

/// Bytes a push: a datagram's worth, and what a file is read in.
const PUSHES: &[usize] = &[1_316, 65_536];

const VIDEO: u16 = 0x100;
const AUDIO: u16 = 0x101;

/// One second: 25 pictures of half a megabyte, 47 frames of audio; none but two when this is a test.
fn stream() -> Vec<u8> {
    let pictures = if std::env::args().any(|arg| arg == "--bench") {
        25
    } else {
        2
    };
    let mut mux = Mux::default();
    let mut audio = 0;
    for n in 0..pictures {
        mux.tables(&[(0x1b, VIDEO), (0x0f, AUDIO)]);
        let time = 900_000 + n * 3_600;
        let field = Field::pcr((time - 45_000) * 300);
        mux.pes(
            VIDEO,
            0xe0,
            Some(time),
            None,
            &picture(n == 0, 500_000, n as u8),
            field,
        );
        while audio * 1_920 <= n * 3_600 {
            let frame = aac(400, audio as u8, 0x7ff);
            mux.pes(
                AUDIO,
                0xc0,
                Some(900_000 + audio * 1_920),
                None,
                &frame,
                Field::default(),
            );
            audio += 1;
        }
    }
    mux.bytes()
}

#[inline(never)]
fn measured_import(stream: &[u8], push: usize) -> Broadcast {
    let broadcast = Broadcast::new(Pool::new(u64::MAX));
    let mut import =
        Import::new(broadcast.clone(), ImportConfig::default()).expect("a new broadcast");
    for chunk in stream.chunks(push) {
        import.push(chunk).expect("a clean stream");
    }
    import.finish().expect("a whole stream");
    broadcast
}

fn import(criterion: &mut Criterion) {
    let stream = stream();
    let mut group = criterion.benchmark_group("import");
    group.throughput(Throughput::Bytes(stream.len() as u64));
    for &push in PUSHES {
        group.bench_with_input(
            BenchmarkId::from_parameter(push),
            &push,
            |bencher, &push| {
                bencher.iter(|| black_box(measured_import(&stream, push)));
            },
        );
    }
    group.finish();
}

#[inline(never)]
fn measured_scan(stream: &[u8]) -> Option<u64> {
    scan(stream, None).expect("a clean stream").peak_rate
}

fn scanning(criterion: &mut Criterion) {
    let stream = stream();
    let mut group = criterion.benchmark_group("scan");
    group.throughput(Throughput::Bytes(stream.len() as u64));
    group.bench_function("facts", |bencher| {
        bencher.iter(|| black_box(measured_scan(&stream)))
    });
    group.finish();
}

criterion_group!(benches, import, scanning);
criterion_main!(benches);
