//! One subscriber: reads every group of a broadcast's track and hands each frame's instant to the tally.

use std::{sync::Arc, time::Duration};

use bytes::Buf;
use moq_net::{GroupConsumer, Origin, SessionConfig, Subscription};

use crate::{
    Error, connect,
    publish::{TRACK, path},
    shape::Shape,
    tally::Tally,
};

/// Subscribes to broadcast `index` and reads in the background until the process ends.
pub(crate) async fn start(shape: &Arc<Shape>, tally: &Arc<Tally>, index: u32) -> Result<(), Error> {
    let origin = Origin::new();
    let config = SessionConfig {
        subscribe: Some(origin.clone()),
        ..SessionConfig::default()
    };
    let (endpoint, session) = connect(shape.relay, config).await?;
    let tally = tally.clone();
    tokio::spawn(async move {
        // Both must live as long as the reading.
        let _connection = (endpoint, session);
        if let Err(error) = read(&origin, index, &tally).await {
            eprintln!("load: a subscriber stopped: {error}");
        }
    });
    Ok(())
}

async fn read(origin: &Origin, index: u32, tally: &Arc<Tally>) -> moq_net::Result<()> {
    let broadcast = origin.wait_broadcast(path(index)).await?;
    let mut subscriber =
        broadcast.subscribe(TRACK, Subscription::within(Duration::from_secs(5)))?;
    while let Some(group) = subscriber.recv_group().await? {
        // Groups may overlap on the wire: none waits for another to be read.
        tokio::spawn(read_group(group, tally.clone()));
    }
    Ok(())
}

async fn read_group(mut group: GroupConsumer, tally: Arc<Tally>) {
    loop {
        match group.read_frame().await {
            Ok(Some(frame)) => {
                let mut payload = frame.payload;
                let bytes = payload.len();
                if let Ok(written) = payload.try_get_u64() {
                    tally.arrived(written, bytes);
                }
            }
            Ok(None) => return,
            Err(_) => return tally.lost(),
        }
    }
}
