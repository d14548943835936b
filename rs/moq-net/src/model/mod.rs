//! Origin ▸ broadcast ▸ track ▸ group ▸ frame: producers, consumers, cursors and the cache they share.
mod arrival;
mod broadcast;
mod datagram;
mod demand;
mod frame;
mod group;
mod ordered;
mod origin;
mod pool;
mod track;

pub use arrival::Subscriber;
pub use broadcast::{Broadcast, BroadcastConsumer, TrackRequest};
pub use datagram::{Datagram, MAX_DATAGRAM_BYTES};
pub use demand::{Control, Demand, Subscription};
pub use frame::{Frame, MAX_FRAME_BYTES};
pub use group::{Group, GroupConsumer, MAX_GROUP_BYTES, MAX_GROUP_FRAMES};
pub use ordered::Ordered;
pub use origin::{Announce, Announced, MAX_HOPS, Origin, OriginConfig, Publication, Route};
pub use pool::Pool;
pub use track::{Track, TrackInfo};
