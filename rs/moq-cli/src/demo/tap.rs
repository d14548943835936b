//! Owns the two places where a demo looks at frames passing: beside the importer, and where the
//! exporter reads. Called by `demo`. Both only read what is cached there anyway: neither copies a
//! payload, and the far one shares the exporter's subscription.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use moq_mux::container;
use moq_net::{BroadcastConsumer, Frame, GroupConsumer, Subscriber, Subscription};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::ledger::{Ledger, Place, Sighting};

/// Without any delivery for this long, what is on the way is lost.
const STUCK: Duration = Duration::from_secs(10);

/// The ledger both taps write, and the clock they write by. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Books {
    ledger: Arc<Mutex<Ledger>>,
    changed: Arc<Notify>,
    start: Instant,
}

impl Books {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            ledger: Arc::default(),
            changed: Arc::default(),
            start,
        }
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Looks at the ledger, or writes it.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Ledger) -> T) -> T {
        // A panic elsewhere can't leave it half written: each entry is one insertion.
        act(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Books `bytes` of payload as read back from the output.
    pub(crate) fn written(&self, bytes: u64) {
        self.with(|ledger| ledger.written(bytes));
        self.changed.notify_waiters();
    }

    /// Waits until at most so much payload is sent and not delivered, and sent and not written. What
    /// moves nothing for [`STUCK`] is given up.
    pub(crate) async fn room(&self, outstanding: u64, unwritten: u64) {
        loop {
            let changed = self.changed.notified();
            let room = self.with(|ledger| {
                ledger.outstanding() <= outstanding && ledger.unwritten() <= unwritten
            });
            if room {
                return;
            }
            if timeout(STUCK, changed).await.is_err() {
                self.with(Ledger::write_off);
            }
        }
    }
}

/// Looks at what an importer writes, without waiting: right after each piece of input, so that the
/// time of a frame is the time it was written.
pub(crate) struct NearTap {
    books: Books,
    consumer: BroadcastConsumer,
    tracks: Vec<NearTrack>,
}

struct NearTrack {
    name: String,
    account: usize,
    subscriber: Subscriber,
    open: Vec<GroupConsumer>,
}

impl NearTap {
    pub(crate) fn new(books: Books, consumer: BroadcastConsumer) -> Self {
        Self {
            books,
            consumer,
            tracks: Vec::new(),
        }
    }

    /// Books every frame written since the last call as sent at `at`, of the tracks `names` and those
    /// named before. O(frames + open groups).
    pub(crate) fn look<'a>(&mut self, names: impl IntoIterator<Item = &'a str>, at: Duration) {
        for name in names {
            self.open(name);
        }
        let mut cx = Context::from_waker(Waker::noop());
        for track in &mut self.tracks {
            while let Poll::Ready(Ok(Some(group))) = track.subscriber.poll_recv_group(&mut cx) {
                track.open.push(group);
            }
            track.open.retain_mut(|group| {
                loop {
                    let place = Place {
                        group: group.sequence(),
                        index: group.frame_index(),
                    };
                    match group.poll_read_frame(&mut cx) {
                        Poll::Ready(Ok(Some(frame))) => {
                            let seen = sighting(&frame, at);
                            self.books
                                .with(|ledger| ledger.sent(track.account, place, seen));
                        }
                        Poll::Ready(_) => return false,
                        Poll::Pending => return true,
                    }
                }
            });
        }
    }
}

impl NearTap {
    fn open(&mut self, name: &str) {
        if self.tracks.iter().any(|track| track.name == name) {
            return;
        }
        // A track that can't be had now is asked for again with the next look.
        if let Ok(subscriber) = self.consumer.subscribe(name, Subscription::everything()) {
            let account = self.books.with(|ledger| ledger.open(name));
            self.tracks.push(NearTrack {
                name: name.into(),
                account,
                subscriber,
                open: Vec::new(),
            });
        }
    }
}

/// Books every frame of the track `name` as delivered when it comes, until the track ends.
pub(crate) async fn watch_far(books: Books, consumer: BroadcastConsumer, name: String) {
    let account = books.with(|ledger| ledger.open(&name));
    let Ok(mut subscriber) = consumer.subscribe(&name, Subscription::everything()) else {
        return;
    };
    let mut reading = FuturesUnordered::new();
    let mut more = true;
    while more || !reading.is_empty() {
        tokio::select! {
            group = subscriber.recv_group(), if more => match group {
                Ok(Some(group)) => reading.push(watch_group(&books, account, group)),
                // What was lost shows in the books, whatever the reason.
                Ok(None) | Err(_) => more = false,
            },
            Some(()) = reading.next(), if !reading.is_empty() => {}
        }
    }
}

async fn watch_group(books: &Books, account: usize, mut group: GroupConsumer) {
    loop {
        let place = Place {
            group: group.sequence(),
            index: group.frame_index(),
        };
        let Ok(Some(frame)) = group.read_frame().await else {
            return;
        };
        let seen = sighting(&frame, books.now());
        books.with(|ledger| ledger.delivered(account, place, seen));
        books.changed.notify_waiters();
    }
}

fn sighting(frame: &Frame, at: Duration) -> Sighting {
    // The container repeats the time in front of the payload, and time is compared apart.
    let (time, payload) = match container::split(frame.payload.clone()) {
        Ok((time, payload)) => (time, payload),
        Err(_) => (frame.timestamp.value(), frame.payload.clone()),
    };
    let mut hasher = DefaultHasher::new();
    payload.hash(&mut hasher);
    Sighting {
        at,
        time,
        print: hasher.finish(),
        bytes: payload.len() as u64,
    }
}
