//! Sessions on the simulated network, under tokio's paused clock.
//!
//! | file | what it shows |
//! |---|---|
//! | `net` | the nodes the tests are made of |
//! | `pubsub` | what a publisher writes, a subscriber reads, in each version |
//! | `demand` | what is asked of the publisher, and when it stops |
//! | `takeover` | publishers that vanish, come back, or are two |
//! | `slow` | loss, slow links, slow readers |
//! | `mesh` | several relays, loops, storms |
//! | `hostile` | peers that break the protocol, one byte at a time |

mod net;

mod demand;
mod hostile;
mod mesh;
mod pubsub;
mod slow;
mod takeover;
