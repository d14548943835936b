//! Bulk over loopback UDP: this crate and quinn 0.11.12 doing the same work in the same process, in turns.
//!
//! `bench/throughput` runs it. For each number of streams: both sides' rate and CPU time per byte, medians over the
//! rounds, and the ratio. Every round measures both, in alternating order. Time the host took from this machine is
//! printed too: above 2 % the reading is worth nothing.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use moq_quic::{
    ClientConfig, Endpoint, ServerConfig, TransportConfig,
    tls::{Identity, Trust},
};

const CHUNK: usize = 64 << 10;
const STREAMS: [usize; 4] = [1, 10, 100, 1_000];

#[derive(Clone, Copy)]
struct Reading {
    bytes_per_s: f64,
    cpu_ns_per_byte: f64,
}

fn main() {
    // Under `cargo test` and nextest the bench only has to work.
    let measured = std::env::args().any(|arg| arg == "--bench");
    let argument = |name: &str| -> Option<usize> {
        let mut args = std::env::args().skip_while(|arg| arg != name);
        args.nth(1)?.parse().ok()
    };
    let rounds = argument("--rounds").unwrap_or(if measured { 9 } else { 1 });
    let total = argument("--megabytes").unwrap_or(if measured { 256 } else { 2 }) << 20;
    let only = argument("--streams");
    let side = std::env::args().skip_while(|arg| arg != "--side").nth(1);
    let (ours, theirs) = (
        side.as_deref() != Some("quinn"),
        side.as_deref() != Some("moq"),
    );
    if !measured && std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    println!("streams  moq MB/s  quinn MB/s  ratio  moq ns/B  quinn ns/B  ratio  steal");
    for streams in STREAMS {
        if only.is_some_and(|only| only != streams) || (!measured && streams > 10) {
            continue;
        }
        let steal = Steal::now();
        let mut readings: [Vec<Reading>; 2] = Default::default();
        // The first round warms up.
        for round in 0..=rounds {
            for turn in 0..2 {
                let which = (round + turn) % 2;
                if !(if which == 0 { ours } else { theirs }) {
                    continue;
                }
                let reading = runtime.block_on(async {
                    if which == 0 {
                        moq(streams, total).await
                    } else {
                        quinn(streams, total).await
                    }
                });
                if round > 0 {
                    readings[which].push(reading);
                }
            }
        }
        let [moq, quinn] = readings.map(|readings| Reading {
            bytes_per_s: median(readings.iter().map(|reading| reading.bytes_per_s)),
            cpu_ns_per_byte: median(readings.iter().map(|reading| reading.cpu_ns_per_byte)),
        });
        println!(
            "{streams:>7}  {:>8.1}  {:>10.1}  {:>5.3}  {:>8.3}  {:>10.3}  {:>5.3}  {:>4.1}%",
            moq.bytes_per_s / 1e6,
            quinn.bytes_per_s / 1e6,
            moq.bytes_per_s / quinn.bytes_per_s,
            moq.cpu_ns_per_byte,
            quinn.cpu_ns_per_byte,
            moq.cpu_ns_per_byte / quinn.cpu_ns_per_byte,
            steal.share() * 100.0,
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Measures what `work` takes to move `bytes`.
async fn measure(bytes: usize, work: impl Future<Output = usize>) -> Reading {
    let (cpu, start) = (cpu(), now());
    let moved = work.await;
    let (wall, cpu) = (start.elapsed(), self::cpu() - cpu);
    assert_eq!(moved, bytes, "all of it arrives");
    Reading {
        bytes_per_s: bytes as f64 / wall.as_secs_f64(),
        cpu_ns_per_byte: cpu.as_nanos() as f64 / bytes as f64,
    }
}

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

async fn moq(streams: usize, total: usize) -> Reading {
    let transport = TransportConfig {
        max_uni_streams: streams as u32 + 10,
        ..TransportConfig::default()
    };
    let identity = Identity::generate(&["localhost".to_owned()]).expect("an identity");
    let mut config = ServerConfig::new(identity, vec![b"bench".to_vec()]);
    config.transport = transport.clone();
    let server = Endpoint::server(loopback(), config).expect("a server");
    let addr = server.local_addr().expect("an address");
    let client = Endpoint::client(loopback()).expect("a client");
    let mut config = ClientConfig::new(Trust::Insecure, vec![b"bench".to_vec()]);
    config.transport = transport;
    let accept = tokio::spawn(async move {
        let connection = server.accept().await.expect("a client").accept().await;
        (server, connection.expect("a connection"))
    });
    let sender = client
        .connect(addr, "localhost", config)
        .await
        .expect("a connection");
    let (_server, receiver) = accept.await.expect("a server");

    let each = total / streams;
    let chunk = Bytes::from(vec![0x55; CHUNK]);
    measure(each * streams, async {
        let reading = tokio::spawn(async move {
            let mut tasks = Vec::new();
            for _ in 0..streams {
                let mut stream = receiver.accept_uni().await.expect("a stream");
                tasks.push(tokio::spawn(async move {
                    let mut read = 0;
                    while let Some(chunk) = stream.read_chunk(usize::MAX).await.expect("bytes") {
                        read += chunk.len();
                    }
                    read
                }));
            }
            let mut read = 0;
            for task in tasks {
                read += task.await.expect("a reader");
            }
            read
        });
        for _ in 0..streams {
            let mut stream = sender.open_uni().await.expect("a stream");
            let chunk = chunk.clone();
            tokio::spawn(async move {
                let mut left = each;
                while left > 0 {
                    let len = left.min(CHUNK);
                    stream.write_chunk(chunk.slice(..len)).await.expect("room");
                    left -= len;
                }
                stream.finish().expect("an open stream");
                stream.stopped().await;
            });
        }
        reading.await.expect("a reader")
    })
    .await
}

async fn quinn(streams: usize, total: usize) -> Reading {
    let identity =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("an identity");
    let certificate = identity.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(identity.signing_key.serialize_der().into());
    let mut transport = quinn::TransportConfig::default();
    transport.max_concurrent_uni_streams((streams as u32 + 10).into());
    let transport = Arc::new(transport);
    let mut config = quinn::ServerConfig::with_single_cert(vec![certificate.clone()], key)
        .expect("a configuration");
    config.transport_config(transport.clone());
    let server = quinn::Endpoint::server(config, loopback()).expect("a server");
    let addr = server.local_addr().expect("an address");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a root");
    let mut config =
        quinn::ClientConfig::with_root_certificates(Arc::new(roots)).expect("a configuration");
    config.transport_config(transport);
    let client = quinn::Endpoint::client(loopback()).expect("a client");
    let accept = tokio::spawn(async move {
        let connection = server.accept().await.expect("a client").await;
        (server, connection.expect("a connection"))
    });
    let connecting = client
        .connect_with(config, addr, "localhost")
        .expect("a connection");
    let sender = connecting.await.expect("a connection");
    let (_server, receiver) = accept.await.expect("a server");

    let each = total / streams;
    let chunk = Bytes::from(vec![0x55; CHUNK]);
    measure(each * streams, async {
        let reading = tokio::spawn(async move {
            let mut tasks = Vec::new();
            for _ in 0..streams {
                let mut stream = receiver.accept_uni().await.expect("a stream");
                tasks.push(tokio::spawn(async move {
                    let mut read = 0;
                    while let Some(chunk) =
                        stream.read_chunk(usize::MAX, true).await.expect("bytes")
                    {
                        read += chunk.bytes.len();
                    }
                    read
                }));
            }
            let mut read = 0;
            for task in tasks {
                read += task.await.expect("a reader");
            }
            read
        });
        for _ in 0..streams {
            let mut stream = sender.open_uni().await.expect("a stream");
            let chunk = chunk.clone();
            tokio::spawn(async move {
                let mut left = each;
                while left > 0 {
                    let len = left.min(CHUNK);
                    stream.write_chunk(chunk.slice(..len)).await.expect("room");
                    left -= len;
                }
                stream.finish().expect("an open stream");
                let _ = stream.stopped().await;
            });
        }
        reading.await.expect("a reader")
    })
    .await
}

#[allow(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn now() -> Instant {
    Instant::now()
}

/// CPU time of this process.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields 14 and 15, counted from behind the name, in ticks of 10 ms.
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

/// Time the host has given to others, of all CPU time, since a moment.
struct Steal {
    stolen: u64,
    total: u64,
}

impl Steal {
    fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = stat.lines().next().unwrap_or_default();
        let fields: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .filter_map(|field| field.parse().ok())
            .collect();
        Self {
            stolen: fields.get(7).copied().unwrap_or(0),
            total: fields.iter().take(8).sum(),
        }
    }

    fn share(&self) -> f64 {
        let now = Self::now();
        (now.stolen - self.stolen) as f64 / (now.total - self.total).max(1) as f64
    }
}
