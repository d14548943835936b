//! Receives one group stream, or a datagram, into the track it belongs to.
//!
//! Called by `lite::session` for each stream of the type. A stream that belongs to nothing is stopped: its subscription may
//! just have been cancelled. A group that can't be kept (a duplicate, too large, too old) is stopped, and only it.

use std::sync::atomic::Ordering::Relaxed;

use super::routes::Incoming;
use crate::lite::coding::Reader;
use crate::lite::input::Input;
use crate::lite::message::{DatagramHeader, GroupHeader};
use crate::lite::peer::Peer;
use crate::model::{Datagram, Group};
use crate::{Error, Result, Timestamp, Track};

pub(crate) async fn receive_group(peer: &Peer, mut input: Input) {
    let Ok(Some(header)) = input.message::<GroupHeader>().await else {
        return input.stop(&Error::Decode("GROUP"));
    };
    let Some(incoming) = peer.routes.incoming(header.subscribe) else {
        return input.stop(&Error::Cancel);
    };
    let outcome = tokio::select! {
        biased;
        outcome = receive(&incoming, header, &mut input) => outcome,
        () = incoming.over() => Err(Error::Cancel),
    };
    incoming.settle(1);
    if let Err(error) = outcome {
        incoming.entry.counters().groups_reset.fetch_add(1, Relaxed);
        input.stop(&error);
    } else {
        incoming
            .entry
            .counters()
            .groups_finished
            .fetch_add(1, Relaxed);
    }
}

async fn receive(incoming: &Incoming, header: GroupHeader, input: &mut Input) -> Result<()> {
    let track = incoming.groups().await.ok_or(Error::Cancel)?;
    let group = match track.create_group(header.sequence) {
        Err(Error::Closed) => {
            let error = Error::ProtocolViolation("a group at or above the declared end");
            incoming.violate(&track, &error);
            return Err(error);
        }
        group => group?,
    };
    if header.frame_start > 0 {
        group.start_at(header.frame_start)?;
    }
    incoming
        .entry
        .counters()
        .groups_started
        .fetch_add(1, Relaxed);
    let filled = tokio::select! {
        biased;
        filled = fill(incoming, &track, &group, input) => filled,
        error = group.closed() => Err(error),
    };
    match filled {
        Ok(()) => group.finish(),
        Err(error) => {
            group.abort(error.clone());
            Err(error)
        }
    }
}

/// Reads frames to the end of the stream. Before 05 they carry no time: that of their arrival takes its place.
async fn fill(incoming: &Incoming, track: &Track, group: &Group, input: &mut Input) -> Result<()> {
    let scale = track.info().timescale;
    let counters = incoming.entry.counters();
    let mut time: u64 = 0;
    while let Some(header) = input.frame_header().await? {
        if !input.has_timestamps() {
            time = scale.units(incoming.began.elapsed());
        }
        time = time
            .checked_add_signed(header.delta)
            .ok_or(Error::TimestampMismatch)?;
        let mut payload = Input::payload(header.size)?;
        let payload = input.fill(&mut payload).await?;
        counters.frames.fetch_add(1, Relaxed);
        counters.bytes.fetch_add(header.size, Relaxed);
        group.write_frame(Timestamp::new(time, scale), payload)?;
    }
    Ok(())
}

/// Takes the datagrams that belong to a subscription, until the session ends.
pub(crate) async fn receive_datagrams(peer: &Peer) {
    while let Ok(bytes) = peer.conn.read_datagram().await {
        let mut reader = Reader::new(&bytes);
        let Ok(header) = DatagramHeader::decode(&mut reader) else {
            continue;
        };
        let Some(incoming) = peer.routes.incoming(header.subscribe) else {
            continue;
        };
        let Some(track) = incoming.datagrams() else {
            continue;
        };
        let datagram = Datagram {
            sequence: header.sequence,
            timestamp: Timestamp::new(header.timestamp, track.info().timescale),
            payload: bytes.slice(bytes.len() - reader.remaining()..),
        };
        if track.create_datagram(datagram).is_ok() {
            incoming.entry.counters().datagrams.fetch_add(1, Relaxed);
        }
    }
}
