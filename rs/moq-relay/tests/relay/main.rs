//! The relay and its sessions on the simulated network, under tokio's paused clock.
//!
//! | file | what it shows |
//! |---|---|
//! | `net` | the network, and the nodes the tests are made of |
//! | `access` | who is let in, to do what, and what a refused one is told |
//! | `flow` | media through the relay: late, lossy, taken over |
//! | `leave` | draining and limits |
//! | `mesh` | relays that join relays |

mod net;

mod access;
mod flow;
mod leave;
mod mesh;
