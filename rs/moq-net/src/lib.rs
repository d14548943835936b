//! Broadcasts, tracks, groups and frames with cursors over a bounded cache; the moq-lite wire protocol.
//!
//! The crate is a pure core with a thin edge:
//!
//! | module | what it owns |
//! |---|---|
//! | [`path`] | names of broadcasts, matched by whole segments |
//! | [`time`] | timestamps and the scale they are counted in |
//! | [`priority`] | how a subscriber's and a publisher's wishes become one send-group priority |
//! | [`lite`] | the moq-lite wire protocol |
//! | [`session`] | one connection to one peer, with numbers in [`stats`] |
//! | [`model`] | origin ▸ broadcast ▸ track ▸ group ▸ frame: cache, cursors, memory, demand |
//!
//! `model` knows no codec, no socket, no clock and no async runtime: its async functions are `poll_*` functions over
//! [`std::task::Waker`], so they run under any executor. The wire and the sessions stand on it.
//!
//! ```
//! use moq_net::{Origin, Subscription, Timestamp, TrackInfo};
//!
//! # fn main() -> Result<(), moq_net::Error> {
//! # futures::executor::block_on(async {
//! let origin = Origin::new();
//! let broadcast = origin.create_broadcast("demo/cam1")?;
//! let track = broadcast.create_track("video", TrackInfo::default())?;
//!
//! let consumer = origin.broadcast("demo/cam1").expect("announced above");
//! let mut subscriber = consumer.subscribe("video", Subscription::default())?;
//!
//! let group = track.append_group()?;
//! group.write_frame(Timestamp::from_millis(0), "hello")?;
//! group.finish()?;
//! track.finish()?;
//!
//! let mut group = subscriber.recv_group().await?.expect("one group was written");
//! let frame = group.read_frame().await?.expect("one frame was written");
//! assert_eq!(frame.payload, "hello");
//! assert!(subscriber.recv_group().await?.is_none());
//! # Ok(())
//! # })
//! # }
//! ```

mod error;
pub mod lite;
pub mod model;
pub mod path;
pub mod priority;
pub mod session;
pub mod stats;
pub mod time;

pub use error::{Error, Result};
pub use lite::version::{Version, alpns};
pub use model::{
    Announce, Announced, Broadcast, BroadcastConsumer, Control, Counts, Datagram, Demand,
    FetchRequest, Frame, Group, GroupConsumer, Ordered, Origin, OriginConfig, Pool, Publication,
    Route, Subscriber, Subscription, Track, TrackInfo, TrackRequest,
};
pub use path::Path;
pub use session::{Session, SessionConfig, SessionRequest};
pub use stats::SessionStats;
pub use time::{Timescale, Timestamp};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
