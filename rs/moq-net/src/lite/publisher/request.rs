//! Requests with one answer: what a track says of itself, and one cached group.
//!
//! Called by `lite::session`. A request half that is finished is no cancellation, one that is reset is.

use std::sync::Arc;

use super::delivery::{Frames, write_frames};
use crate::lite::input::Input;
use crate::lite::message::{Fetch, Message, TrackRequest};
use crate::lite::peer::Peer;
use crate::lite::transport::{GroupConfig, SendStream};
use crate::stats::Counters;
use crate::{Result, priority};

/// TRACK: answers with TRACK_INFO.
pub(crate) async fn track(peer: &Peer, send: &mut SendStream, input: &mut Input) -> Result<()> {
    let request: TrackRequest = input.expect().await?;
    let info = async {
        peer.broadcast(&request.broadcast)
            .await?
            .info(&request.track)
            .await
    };
    let info = unless_reset(input, info).await?;
    send.write_chunk(info.encode(peer.version)?).await?;
    Ok(send.finish()?)
}

/// FETCH: answers with bare frames.
pub(crate) async fn fetch(peer: &Peer, send: &mut SendStream, input: &mut Input) -> Result<()> {
    let request: Fetch = input.expect().await?;
    let answer = async {
        let broadcast = peer.broadcast(&request.broadcast).await?;
        let info = broadcast.info(&request.track).await?;
        let mut group = broadcast.fetch(&request.track, request.group).await?;
        let send_group = peer.conn.open_group(GroupConfig {
            priority: priority::send_group(request.priority, info.priority),
            ..GroupConfig::default()
        });
        send.set_group(&send_group, request.group)?;
        let frames = Frames {
            start: request.frame_start,
            end: request.frame_end,
        };
        let counters = Arc::new(Counters::default());
        write_frames(send, peer.version, &[], &mut group, frames, &counters).await?;
        Ok(send.finish()?)
    };
    unless_reset(input, answer).await
}

/// Does something until the peer resets its half.
async fn unless_reset<T>(input: &mut Input, answer: impl Future<Output = Result<T>>) -> Result<T> {
    let reset = async {
        match input.end().await {
            Ok(()) => std::future::pending().await,
            Err(error) => error,
        }
    };
    tokio::select! {
        biased;
        answer = answer => answer,
        error = reset => Err(error),
    }
}
