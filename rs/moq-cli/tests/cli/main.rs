//! The `moq` binary as a person runs it: real processes, real sockets on loopback.
//!
//! | file | what it shows |
//! |---|---|
//! | `run` | how the tests run the binary |
//! | `flows` | a stream from process to process, and what happens when one dies |
//! | `faults` | what goes wrong is said in one line, and the status tells |

mod run;

mod faults;
mod flows;
