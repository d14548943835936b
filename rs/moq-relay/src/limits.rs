//! Owns how many sessions there may be. Called by `server` for each that wants in; knows nothing of
//! what a session is.

use tokio::sync::watch;

/// A counted number of seats.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    most: usize,
    taken: watch::Sender<usize>,
}

impl Seats {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            taken: watch::Sender::new(0),
        }
    }

    /// Takes a seat, unless all are taken. O(1).
    pub(crate) fn take(&self) -> Option<Seat> {
        let seated = self.taken.send_if_modified(|taken| {
            let free = *taken < self.most;
            *taken += usize::from(free);
            free
        });
        seated.then(|| Seat {
            taken: self.taken.clone(),
        })
    }

    /// Seats taken now.
    pub(crate) fn taken(&self) -> usize {
        *self.taken.borrow()
    }

    /// Waits until nobody sits.
    pub(crate) async fn empty(&self) {
        // The sender lives as long as we do, so this can't fail.
        let _ = self.taken.subscribe().wait_for(|taken| *taken == 0).await;
    }
}

/// One seat, given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    taken: watch::Sender<usize>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.taken.send_modify(|taken| *taken -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_sit_than_there_are_seats() {
        let seats = Seats::new(2);
        let first = seats.take().expect("free");
        let _second = seats.take().expect("free");
        assert!(seats.take().is_none());
        drop(first);
        assert_eq!(seats.taken(), 1);
        assert!(seats.take().is_some());
    }

    #[tokio::test]
    async fn empty_waits_for_the_last_to_leave() {
        let seats = Seats::new(2);
        seats.empty().await;
        let seat = seats.take().expect("free");
        let waiting = tokio::spawn({
            let seats = seats.clone();
            async move { seats.empty().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(seat);
        waiting.await.expect("it does not panic");
    }
}
