//! Owns `moq announced`: one line for each broadcast as it comes and goes. Called by `main`.

use moq_net::{Announce, Pool};

use crate::args::AnnouncedArgs;
use crate::error::Error;
use crate::link::{Direction, Link};
use crate::say::print;
use crate::signal::interrupted;

/// Prints until interrupted.
pub(crate) async fn run(args: AnnouncedArgs) -> Result<(), Error> {
    let link = Link::dialling(
        &args.connect,
        &args.dial,
        Direction::Subscribe,
        Pool::default(),
    )?;
    let result = tokio::select! {
        error = link.keep() => Err(error),
        result = list(&link, &args.prefix) => result,
        () = interrupted() => Ok(()),
    };
    link.close().await;
    result
}

async fn list(link: &Link, prefix: &str) -> Result<(), Error> {
    let mut announced = link.origin().announced(prefix);
    while let Some(change) = announced.next().await {
        match change {
            Announce::Active { path, .. } => print(format_args!("+ {path}"))?,
            Announce::Ended { path } => print(format_args!("- {path}"))?,
            // It was there and still is; by which way is nobody's concern here.
            Announce::Restart { .. } => {}
        }
    }
    Ok(())
}
