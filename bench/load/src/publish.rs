//! One publisher: a broadcast of one track, frames at even instants, each beginning with when it was written.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use moq_net::{Broadcast, Origin, Session, SessionConfig, Timestamp, Track, TrackInfo};
use moq_quic::Endpoint;
use tokio::{
    task::JoinHandle,
    time::{Duration, Instant, sleep_until},
};

use crate::{Error, connect, shape::Shape, tally::Tally};

/// The one track of each broadcast.
pub(crate) const TRACK: &str = "load";

/// The name of a broadcast.
pub(crate) fn path(index: u32) -> String {
    format!("load/{index}")
}

/// Publishes until it is dropped.
pub(crate) struct Publisher {
    _endpoint: Endpoint,
    _session: Session,
    _broadcast: Broadcast,
    writer: JoinHandle<()>,
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

/// Announces broadcast `index` and begins to write.
pub(crate) async fn start(
    shape: &Arc<Shape>,
    tally: &Arc<Tally>,
    index: u32,
) -> Result<Publisher, Error> {
    let origin = Origin::new();
    let broadcast = origin.create_broadcast(path(index))?;
    let track = broadcast.create_track(TRACK, TrackInfo::default())?;
    let config = SessionConfig {
        publish: Some(origin),
        ..SessionConfig::default()
    };
    let (endpoint, session) = connect(shape.relay, config).await?;
    let (shape, tally) = (shape.clone(), tally.clone());
    let writer = tokio::spawn(async move {
        if let Err(error) = write(&track, &shape, &tally).await {
            eprintln!("load: a publisher stopped: {error}");
        }
    });
    Ok(Publisher {
        _endpoint: endpoint,
        _session: session,
        _broadcast: broadcast,
        writer,
    })
}

async fn write(track: &Track, shape: &Shape, tally: &Tally) -> moq_net::Result<()> {
    let filling = Bytes::from(vec![0xa5; shape.frame_size.saturating_sub(8)]);
    let begin = Instant::now();
    let mut frame = 0;
    loop {
        let group = track.append_group()?;
        for _ in 0..shape.group_size {
            sleep_until(begin + Duration::from_secs(1) * frame / shape.fps).await;
            let written = tally.now();
            let mut payload = BytesMut::with_capacity(8 + filling.len());
            payload.put_u64(written);
            payload.put_slice(&filling);
            group.write_frame(Timestamp::from_micros(written), payload.freeze())?;
            tally.written(written);
            frame += 1;
        }
        group.finish()?;
    }
}
