//! Owns which broadcast a name stands for right now: it comes, goes, and is replaced. Called by
//! `subscribe`; reads no media.

use std::time::Duration;

use moq_net::{Announce, Announced, BroadcastConsumer, Origin, Path};
use tokio::time::timeout;

use crate::error::Error;
use crate::say::say;

/// How long to wait before the person is told that we wait, and what for.
const SILENCE: Duration = Duration::from_secs(1);

/// A broadcast known by name.
pub(crate) struct Awaited {
    origin: Origin,
    announced: Announced,
    path: Path,
    current: Option<BroadcastConsumer>,
    /// The current one has not been handed out yet.
    fresh: bool,
}

impl Awaited {
    pub(crate) fn new(origin: &Origin, name: &str) -> Result<Self, Error> {
        let path = Path::new(name).map_err(|cause| Error::Broadcast {
            name: name.into(),
            cause,
        })?;
        let announced = origin.announced(&path);
        Ok(Self {
            origin: origin.clone(),
            announced,
            path,
            current: None,
            fresh: false,
        })
    }

    /// Waits until a broadcast of the name is live that was not handed out before, and tells the person if that takes a while.
    ///
    /// Errors: [`Error::Absent`] after `patience`, if any.
    pub(crate) async fn live(
        &mut self,
        patience: Option<Duration>,
    ) -> Result<BroadcastConsumer, Error> {
        let quick = patience.map_or(SILENCE, |patience| patience.min(SILENCE));
        if let Ok(consumer) = timeout(quick, self.next_live()).await {
            return Ok(consumer);
        }
        let Some(rest) = patience.map(|patience| patience - quick) else {
            say(format!("waiting for {}{}", self.path, self.others()));
            return Ok(self.next_live().await);
        };
        if !rest.is_zero() {
            say(format!("waiting for {}{}", self.path, self.others()));
            if let Ok(consumer) = timeout(rest, self.next_live()).await {
                return Ok(consumer);
            }
        }
        Err(Error::Absent {
            name: self.path.to_string(),
            patience: crate::units::duration(quick + rest),
            others: self.others(),
        })
    }

    /// The last one handed out was lost: hands it out once more if it is live after all. So it is when
    /// the other end went over to another publisher of the same name.
    pub(crate) fn again(&mut self) {
        self.fresh = self.current.is_some();
    }

    /// Waits until another broadcast takes the place of the last one handed out. Cancel safe.
    pub(crate) async fn replaced(&mut self) {
        while !self.fresh {
            match self.announced.next().await {
                Some(change) => self.apply(change),
                // The origin lives as long as we do.
                None => std::future::pending().await,
            }
        }
    }

    async fn next_live(&mut self) -> BroadcastConsumer {
        loop {
            self.replaced().await;
            self.fresh = false;
            if let Some(consumer) = self.current.clone().filter(|current| !current.is_closed()) {
                return consumer;
            }
        }
    }

    fn apply(&mut self, change: Announce) {
        match change {
            Announce::Active { path, consumer, .. } | Announce::Restart { path, consumer, .. }
                if path == self.path =>
            {
                let same = self
                    .current
                    .as_ref()
                    .is_some_and(|current| current.is_same(&consumer));
                self.current = Some(consumer);
                self.fresh |= !same;
            }
            // What came below our name is not ours; what ended can still be read to its end.
            _ => {}
        }
    }

    /// What else is live, for whoever mistyped a name.
    fn others(&self) -> String {
        let mut all = self.origin.announced("");
        let mut names = Vec::new();
        while let Some(change) = all.try_next() {
            if let Announce::Active { path, .. } = change {
                names.push(path.to_string());
            }
        }
        match names.len() {
            0 => "; nothing is live there".into(),
            1..=5 => format!("; live there: {}", names.join(", ")),
            more => format!(
                "; live there: {} and {} more",
                names[..5].join(", "),
                more - 5
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Option<Duration> = Some(Duration::from_millis(100));

    fn awaited(origin: &Origin) -> Awaited {
        Awaited::new(origin, "cam").unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_live_broadcast_is_handed_out_once() {
        let origin = Origin::new();
        let _broadcast = origin.create_broadcast("cam").unwrap();
        let mut awaited = awaited(&origin);
        awaited.live(SHORT).await.unwrap();
        assert!(awaited.live(SHORT).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_handed_out_again_if_it_is_still_there() {
        let origin = Origin::new();
        let broadcast = origin.create_broadcast("cam").unwrap();
        let mut awaited = awaited(&origin);
        awaited.again();
        awaited.live(SHORT).await.unwrap();
        awaited.again();
        awaited.live(SHORT).await.unwrap();
        drop(broadcast);
        awaited.again();
        assert!(awaited.live(SHORT).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn its_successor_is_handed_out_whether_it_comes_before_or_after_the_end() {
        let origin = Origin::new();
        let mut awaited = awaited(&origin);
        for ended_first in [true, false] {
            let first = origin.create_broadcast("cam").unwrap();
            awaited.live(SHORT).await.unwrap();
            if ended_first {
                drop(first);
                let _second = origin.create_broadcast("cam").unwrap();
                timeout(SILENCE, awaited.replaced()).await.unwrap();
                awaited.live(SHORT).await.unwrap();
            } else {
                let _second = origin.create_broadcast("cam").unwrap();
                timeout(SILENCE, awaited.replaced()).await.unwrap();
                awaited.live(SHORT).await.unwrap();
                drop(first);
                assert!(timeout(SILENCE, awaited.replaced()).await.is_err());
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_below_the_name_is_another_broadcast() {
        let origin = Origin::new();
        let _below = origin.create_broadcast("cam/2").unwrap();
        let error = awaited(&origin).live(SHORT).await.unwrap_err().to_string();
        assert!(
            error.contains("no broadcast cam after 100 ms; live there: cam/2"),
            "{error}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn without_patience_it_waits_for_ever() {
        let origin = Origin::new();
        let mut awaited = awaited(&origin);
        let day = Duration::from_secs(86_400);
        assert!(timeout(day, awaited.live(None)).await.is_err());
        let _broadcast = origin.create_broadcast("cam").unwrap();
        timeout(SILENCE, awaited.live(None)).await.unwrap().unwrap();
    }
}
