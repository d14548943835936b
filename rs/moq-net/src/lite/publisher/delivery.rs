//! Sends one group on a stream of its own.
//!
//! Owns the bytes of a group stream and when to give one up: as soon as newer media has passed it by more than its age.
//! Called by `subscription`, which runs many at once, and by `request` for the frames alone. May not know why a group is
//! wanted. Memory: payloads are shared with the cache; the stream's high-water mark bounds what waits here.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::BytesMut;
use futures::FutureExt;
use tokio::sync::watch;

use crate::lite::message::{FrameHeader, GroupHeader, Message, uni};
use crate::lite::transport::{self, Cancelled, SendGroup, SendStream};
use crate::lite::version::Version;
use crate::stats::Counters;
use crate::{Error, GroupConsumer, Result};

/// Payloads shorter than this are copied into a buffer with their headers; longer ones are passed on as they are.
const SMALL: usize = 1024;
/// How much of that is gathered before it is passed on.
const GATHER: usize = 16 << 10;

/// Which frames of a group are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frames {
    pub(super) start: u64,
    /// Exclusive.
    pub(super) end: Option<u64>,
}

/// What all groups of a subscription have in common.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) version: Version,
    pub(super) subscribe: u64,
    pub(super) send_group: SendGroup,
    pub(super) counters: Arc<Counters>,
}

impl Delivery {
    /// Sends the group and waits until the peer has all of it, stops it, or it is older than `age` says. `None` instead
    /// of an age: it is never too old.
    pub(super) async fn run(
        self,
        group: GroupConsumer,
        frames: Frames,
        age: Option<watch::Receiver<Duration>>,
    ) {
        let watched = group.clone();
        let mut stream = None;
        let sent = tokio::select! {
            biased;
            sent = self.send(&mut stream, group, frames) => sent,
            () = too_old(watched, age) => Err(Error::Old),
        };
        match (sent, &mut stream) {
            (Ok(bytes), _) => {
                self.counters.groups_finished.fetch_add(1, Relaxed);
                self.counters.bytes_acknowledged.fetch_add(bytes, Relaxed);
            }
            (Err(error), Some(Cancelled(stream))) => {
                self.counters.groups_reset.fetch_add(1, Relaxed);
                transport::reset(stream, &error);
            }
            (Err(_), None) => {}
        }
    }

    async fn send(
        &self,
        slot: &mut Option<Cancelled>,
        mut group: GroupConsumer,
        frames: Frames,
    ) -> Result<u64> {
        let sequence = group.sequence();
        let opened = self.send_group.open_uni(sequence).await?;
        let stream = &mut slot.insert(Cancelled(opened)).0;
        self.counters.groups_started.fetch_add(1, Relaxed);
        let frame_start = if self.version >= Version::Lite06 {
            frames.start
        } else {
            0
        };
        let header = GroupHeader {
            subscribe: self.subscribe,
            sequence,
            frame_start,
        };
        let header = header.encode_first(uni::GROUP, self.version)?;
        let bytes = write_frames(
            stream,
            self.version,
            &header,
            &mut group,
            frames,
            &self.counters,
        )
        .await?;
        stream.finish()?;
        match stream.stopped().await {
            None => Ok(bytes),
            Some(_) => Err(Error::Cancel),
        }
    }
}

/// Writes `before`, then the frames as they come to the end of the group. Returns the bytes of payload.
pub(super) async fn write_frames(
    stream: &mut SendStream,
    version: Version,
    before: &[u8],
    group: &mut GroupConsumer,
    frames: Frames,
    counters: &Counters,
) -> Result<u64> {
    group.skip_to(frames.start);
    let mut gathered = BytesMut::from(before);
    let (mut previous, mut bytes) = (0, 0);
    while frames.end.is_none_or(|end| group.frame_index() < end) {
        let next = match group.read_frame().now_or_never() {
            Some(next) => next,
            None => {
                flush(stream, &mut gathered).await?;
                group.read_frame().await
            }
        };
        let Some(frame) = next? else { break };
        let timestamp = frame.timestamp.value();
        let delta = timestamp.wrapping_sub(previous).cast_signed();
        previous = timestamp;
        let size = frame.payload.len();
        FrameHeader {
            delta,
            size: size as u64,
        }
        .encode(&mut gathered, version)?;
        if size < SMALL {
            gathered.extend_from_slice(&frame.payload);
        }
        if size >= SMALL || gathered.len() >= GATHER {
            flush(stream, &mut gathered).await?;
        }
        if size >= SMALL {
            stream.write_chunk(frame.payload).await?;
        }
        bytes += size as u64;
        counters.frames.fetch_add(1, Relaxed);
        counters.bytes.fetch_add(size as u64, Relaxed);
    }
    flush(stream, &mut gathered).await?;
    Ok(bytes)
}

async fn flush(stream: &mut SendStream, gathered: &mut BytesMut) -> Result<()> {
    if !gathered.is_empty() {
        stream.write_chunk(gathered.split().freeze()).await?;
    }
    Ok(())
}

/// Waits until the group is older than the age, which may change meanwhile.
async fn too_old(group: GroupConsumer, age: Option<watch::Receiver<Duration>>) {
    let Some(mut age) = age else {
        return std::future::pending().await;
    };
    loop {
        let now = *age.borrow_and_update();
        tokio::select! {
            biased;
            () = group.late(now) => return,
            changed = age.changed() => {
                if changed.is_err() {
                    return group.late(now).await;
                }
            }
        }
    }
}
