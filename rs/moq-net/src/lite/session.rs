//! The streams a session begins with and the streams its peer opens.
//!
//! Owns SETUP, GOAWAY, and what each stream type leads to. Called by `crate::session`. May not know what the other
//! streams carry. A stream of no known type is that stream's trouble; a second SETUP or GOAWAY is the session's.

use std::sync::Arc;

use super::input::Input;
use super::message::{Goaway, MAX_URI, Message, Setup, bidi, uni};
use super::peer::Peer;
use super::transport::{self, SendStream};
use super::version::Version;
use super::{publisher, subscriber};
use crate::{Error, Result};

/// Begins to take what the peer opens. Requests wait until the peer is let in.
pub(crate) fn listen(peer: &Arc<Peer>) {
    let this = peer.clone();
    peer.spawn(async move {
        while let Ok(stream) = this.conn.accept_uni().await {
            let input = Input::new(stream, this.version);
            this.spawn(accept_uni(this.clone(), input));
        }
    });
    let this = peer.clone();
    peer.spawn(async move {
        this.views().await;
        while let Ok((send, recv)) = this.conn.accept_bi().await {
            let input = Input::new(recv, this.version);
            this.spawn(accept_bi(this.clone(), send, input));
        }
    });
}

/// Begins to say and to ask.
pub(crate) fn begin(peer: &Arc<Peer>, setup: Setup) {
    if peer.version.has_setup() {
        let this = peer.clone();
        peer.spawn(async move {
            if let Err(error) = send_setup(&this, setup).await {
                tracing::debug!(%error, "SETUP was not sent");
            }
        });
    }
    subscriber::begin(peer);
}

async fn send_setup(peer: &Peer, setup: Setup) -> Result<()> {
    let mut stream = peer.control.open_uni(0).await?;
    stream
        .write_chunk(setup.encode_first(uni::SETUP, peer.version)?)
        .await?;
    stream.finish()?;
    Ok(())
}

/// Says GOAWAY, once.
pub(crate) async fn send_goaway(peer: &Peer, uri: &str) -> Result<()> {
    if uri.len() > MAX_URI {
        return Err(Error::ProtocolViolation(
            "a GOAWAY URI may have at most 8192 bytes",
        ));
    }
    if peer.version < Version::Lite04 || !peer.first_goaway() {
        return peer.check();
    }
    let message = Goaway {
        uri: uri.to_owned(),
    }
    .encode_first(bidi::GOAWAY, peer.version)?;
    let (mut send, recv) = peer.control.open_bi(0).await?;
    send.write_chunk(message).await?;
    send.finish()?;
    let _ = Input::new(recv, peer.version).end().await;
    Ok(())
}

async fn accept_uni(peer: Arc<Peer>, mut input: Input) {
    match input.varint().await {
        Ok(Some(uni::GROUP)) => subscriber::receive_group(&peer, input).await,
        Ok(Some(uni::SETUP)) if peer.version.has_setup() => {
            if let Err(error) = receive_setup(&peer, &mut input).await {
                peer.fail(&error);
            }
        }
        Ok(Some(_)) => input.stop(&Error::Cancel),
        // It ended before it said what it was.
        Ok(None) | Err(_) => {}
    }
}

async fn receive_setup(peer: &Peer, input: &mut Input) -> Result<()> {
    let setup: Setup = match input.expect().await {
        Err(Error::Decode(what)) => return Err(Error::ProtocolViolation(what)),
        setup => setup?,
    };
    if !peer.set_setup(setup) {
        return Err(Error::ProtocolViolation("a second SETUP"));
    }
    Ok(())
}

async fn accept_bi(peer: Arc<Peer>, mut send: SendStream, mut input: Input) {
    let _ = send.set_group(&peer.control, 0);
    let outcome = match input.varint().await {
        Ok(Some(bidi::ANNOUNCE)) => publisher::announce(&peer, &mut send, &mut input).await,
        Ok(Some(bidi::SUBSCRIBE)) => publisher::subscribe(&peer, &mut send, &mut input).await,
        Ok(Some(bidi::FETCH)) => publisher::fetch(&peer, &mut send, &mut input).await,
        Ok(Some(bidi::TRACK)) if peer.version.has_setup() => {
            publisher::track(&peer, &mut send, &mut input).await
        }
        Ok(Some(bidi::GOAWAY)) if peer.version >= Version::Lite04 => {
            receive_goaway(&peer, &mut send, &mut input).await
        }
        // PROBE is refused like what isn't known.
        Ok(Some(_)) => Err(Error::Cancel),
        // It ended before it said what it was.
        Ok(None) => send.finish().map_err(Error::from),
        Err(error) => Err(error),
    };
    if let Err(error) = outcome {
        tracing::trace!(%error, "a request ended");
        transport::reset(&mut send, &error);
        input.stop(&error);
    }
}

async fn receive_goaway(peer: &Peer, send: &mut SendStream, input: &mut Input) -> Result<()> {
    let goaway: Goaway = input.expect().await?;
    if !peer.set_goaway(goaway.uri) {
        let error = Error::ProtocolViolation("a second GOAWAY");
        peer.fail(&error);
        return Err(error);
    }
    send.finish()?;
    Ok(())
}
