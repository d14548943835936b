//! Owns one session from its connection to its end: hand-shake, authorisation, serving, leaving.
//! Called by `server`, one task each; a session's trouble stays here.

use moq_net::{Error, Path, Session, SessionConfig, SessionRequest};
use moq_quic::Incoming;
use tracing::{debug, info};

use crate::metrics::Refusal;
use crate::server::{Phase, Shared};

/// Lets one connection in, if it may do anything, and serves it to its end.
pub(crate) async fn admit(shared: &Shared, incoming: Incoming) {
    let remote = incoming.remote_address();
    let request = match handshake(incoming).await {
        Ok(request) => request,
        Err(error) => {
            debug!(%remote, %error, "no session came of a connection");
            shared.books.refused(Refusal::Failed);
            return;
        }
    };
    // What follows a question mark is for authorisation by token, which there is none of yet.
    let path = request
        .path()
        .split('?')
        .next()
        .unwrap_or_default()
        .to_owned();
    match authorize(shared, &path) {
        Ok(config) => {
            info!(%remote, path, version = %request.version(), "a session begins");
            let session = request.serve(config);
            let error = run(shared, session).await;
            info!(%remote, path, reason = %error, "a session has ended");
        }
        Err(error) => {
            let reason = format!("nothing at '/{path}' is public");
            info!(%remote, reason, "a session was refused");
            shared.books.refused(Refusal::Unauthorized);
            request.refuse(&error, &reason);
        }
    }
}

async fn handshake(incoming: Incoming) -> Result<SessionRequest, Error> {
    let connection = incoming
        .accept()
        .await
        .map_err(|error| Error::Transport(error.to_string()))?;
    Session::accept(connection).await
}

/// What a session that asks for `path` is given.
fn authorize(shared: &Shared, path: &str) -> Result<SessionConfig, Error> {
    let root = Path::new(path)?;
    let grant = shared.auth.grant(&root);
    if grant.is_empty() {
        return Err(Error::Unauthorized);
    }
    let view = shared.origin.mount(&root)?;
    let scoped = |prefixes: &[Path]| (!prefixes.is_empty()).then(|| view.scope(prefixes));
    Ok(SessionConfig {
        publish: scoped(&grant.read),
        subscribe: scoped(&grant.publish),
        ..SessionConfig::default()
    })
}

/// Serves a session until it ends, the peer says it is going away, or the relay is done draining.
pub(crate) async fn run(shared: &Shared, session: Session) -> Error {
    let _entry = shared.books.admitted(session.clone());
    let mut phase = shared.phase.subscribe();
    tokio::select! {
        error = session.closed() => return error,
        _ = phase.wait_for(|phase| *phase > Phase::Open) => {}
    }
    // A peer that can't be told is one that must be closed, below.
    let told = session.goaway("");
    let leaving = async {
        let _ = told.await;
        session.closed().await
    };
    tokio::select! {
        error = leaving => error,
        _ = phase.wait_for(|phase| *phase == Phase::Closed) => {
            session.close(Error::GoingAway.session_code(), "the relay has shut down");
            Error::GoingAway
        }
    }
}
