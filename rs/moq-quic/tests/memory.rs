//! Memory goes back to where it was. One test a process would be best: they take turns instead.

mod support;

#[path = "support/virtual_pair.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
mod virtual_pair;

use std::{sync::Mutex, time::Duration};

use moq_quic::{
    ClientConfig, Endpoint, GroupConfig, ServerConfig, TransportConfig,
    sim::{self, Network},
    tls::Trust,
};
use quinn_proto::Dir;
use support::{client_addr, server_addr};

static TURN: Mutex<()> = Mutex::new(());

/// Bytes of memory this process has.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4_096
}

#[test]
fn a_hundred_thousand_streams_leave_no_memory_behind() {
    let _turn = TURN.lock();
    let mut pair = virtual_pair::Pair::new(&TransportConfig {
        max_uni_streams: 400,
        ..TransportConfig::default()
    });
    pair.set_wires(0, Duration::from_micros(100), 0);
    let group = pair.client.core.open_group(GroupConfig::default());
    let data = virtual_pair::bytes(300);
    let mut cycle = |count: u64| {
        for at in 0..count {
            let key = loop {
                if let Some(key) = pair.client.core.open(Dir::Uni, group, at).unwrap() {
                    break key;
                }
                pair.run_until(Duration::from_millis(1), |pair| {
                    virtual_pair::drain(&mut pair.server);
                    pair.client.events.clear();
                    false
                });
            };
            pair.client.core.write(key, data.clone()).unwrap();
            match at % 2 {
                0 => pair.client.core.finish(key).unwrap(),
                _ => pair.client.core.reset(key, 1).unwrap(),
            }
            pair.client.core.release(key);
        }
        pair.run_until(Duration::from_millis(500), |pair| {
            virtual_pair::drain(&mut pair.server);
            pair.client.events.clear();
            false
        });
        assert_eq!(pair.client.core.live_streams(), (0, 0));
        assert_eq!(pair.server.core.live_streams(), (0, 0));
    };
    cycle(20_000);
    let before = resident();
    cycle(80_000);
    let grown = resident().saturating_sub(before);
    assert!(
        grown < 1 << 20,
        "{grown} bytes more after 80,000 more streams"
    );
}

#[test]
fn a_thousand_idle_connections_come_and_go() {
    let _turn = TURN.lock();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let network = Network::new(1);
        let config = ServerConfig::new(sim::identity().unwrap(), vec![]);
        let server = Endpoint::with_socket(network.socket(server_addr()), Some(config)).unwrap();
        let client = Endpoint::with_socket(network.socket(client_addr()), None).unwrap();
        let mut after = Vec::new();
        let start = resident();
        let mut each = 0;
        for _ in 0..3 {
            let mut held = Vec::new();
            for _ in 0..1_000 {
                let config = ClientConfig::new(Trust::Insecure, vec![]);
                let (ours, theirs) = tokio::join!(
                    client.connect(server_addr(), "localhost", config),
                    support::accept(&server)
                );
                held.push((ours.unwrap(), theirs));
            }
            each = resident().saturating_sub(start) / 1_000;
            drop(held);
            client.wait_idle().await;
            server.wait_idle().await;
            after.push(resident());
        }
        eprintln!("{each} bytes a pair of idle connections");
        assert!(each < 120_000, "{each} bytes a pair of idle connections");
        let grown = after[2].saturating_sub(after[1]);
        assert!(
            grown < 4 << 20,
            "{grown} bytes more after another 1,000 connections"
        );
    });
}
