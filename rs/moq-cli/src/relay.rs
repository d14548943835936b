//! Owns `moq relay`: sockets and signals around the relay library. Called by `main`.

use std::time::Duration;

use futures::future::join_all;
use moq_net::Pool;
use moq_relay::{Config, Relay};
use tokio::time::{Instant, sleep, timeout};

use crate::args::{DialArgs, RelayArgs, alpn};
use crate::backoff::{Backoff, BackoffConfig};
use crate::dial::Dialler;
use crate::error::Error;
use crate::link::random;
use crate::listen::listen;
use crate::say::{print, say};
use crate::signal::interrupted;
use crate::units;

/// How long peers have to hear that we have closed.
const FAREWELL: Duration = Duration::from_secs(1);

/// Runs until SIGINT or SIGTERM, then drains; a second signal closes at once.
pub(crate) async fn run(args: RelayArgs) -> Result<(), Error> {
    let auth = args.auth.auth();
    let identity = args.identity.load()?;
    let versions = alpn(&args.protocol);
    let dial = DialArgs {
        trust: args.trust,
        protocol: args.protocol,
    };
    let peers: Vec<Dialler> = args
        .peer
        .iter()
        .map(|url| Dialler::new(url, &dial))
        .collect::<Result<_, _>>()?;
    let mut endpoints = Vec::new();
    for address in args.listen {
        let (endpoint, address) = listen(address, &identity, versions.clone())?;
        print(format_args!("listening on {address} (UDP)"))?;
        endpoints.push(endpoint);
    }
    print(format_args!(
        "certificate SHA-256 {}",
        hex::encode(identity.fingerprint())
    ))?;
    match (auth.read.is_empty(), auth.publish.is_empty()) {
        (true, true) => say("nothing is public, so every session will be refused: \
             say what is with --auth-public, as in --auth-public '**'"),
        (true, false) => say("nothing may be read: see --auth-public-read"),
        (false, true) => say("nothing may be published: see --auth-public-publish"),
        (false, false) => {}
    }
    let relay = Relay::new(Config {
        auth,
        max_sessions: args.max_sessions,
        pool: Pool::new(args.cache),
        drain_timeout: args.drain_timeout,
        hop: None,
    });
    let serving = join_all(endpoints.iter().map(|endpoint| relay.serve(endpoint)));
    let joining = join_all(peers.iter().map(|peer| join(&relay, peer)));
    let draining = async {
        interrupted().await;
        drain(&relay, args.drain_timeout).await;
    };
    tokio::select! {
        _ = draining => {}
        _ = async { tokio::join!(serving, joining) } => {}
    }
    for endpoint in &endpoints {
        // Whoever doesn't hear it will notice by itself.
        let _ = timeout(FAREWELL, endpoint.wait_idle()).await;
    }
    Ok(())
}

async fn drain(relay: &Relay, patience: Duration) {
    let sessions = relay.metrics().sessions;
    if sessions > 0 {
        let patience = units::duration(patience);
        say(format!(
            "draining: {sessions} sessions have {patience} to leave; again to close now"
        ));
    }
    tokio::select! {
        drained = relay.drain() => {
            if drained.closed > 0 {
                say(format!("closed {} sessions that had not left", drained.closed));
            }
        }
        () = interrupted() => relay.close(),
    }
    let metrics = relay.metrics();
    say(format!(
        "stopped after {} sessions, {} refused",
        metrics.admitted,
        metrics.full + metrics.unauthorized,
    ));
}

/// Keeps a session with another relay.
async fn join(relay: &Relay, peer: &Dialler) {
    let mut backoff = Backoff::new(BackoffConfig::default());
    loop {
        let (lived, cause) = match peer.dial().await {
            Ok(dialled) => {
                say(format!("joined {}", peer.address()));
                let since = Instant::now();
                let cause = relay.join(dialled.connection).await;
                (since.elapsed(), format!("lost {}: {cause}", peer.address()))
            }
            Err(error) => (Duration::ZERO, error.to_string()),
        };
        let wait = backoff.ended(lived, random());
        say(format!(
            "{cause}; trying again in {}",
            units::duration(wait)
        ));
        sleep(wait).await;
    }
}
