//! A track's frames in sequence, whatever order its groups arrive in.
//!
//! Over a network the newest group travels first, so a cursor that skips holes would lose the older ones. Here a group
//! is held until the one before it is through; a hole ends when the track does, or when the caller says so.

use std::collections::BTreeMap;
use std::task::{Context, Poll};

use moq_net::{BroadcastConsumer, Frame, GroupConsumer, Subscriber, Subscription};

use crate::Result;

/// One track being read.
pub(super) struct Sequence {
    subscriber: Subscriber,
    /// Groups that came and are not read to their end.
    groups: BTreeMap<u64, GroupConsumer>,
    /// The group to be read next, once it is known where the track starts.
    next: Option<u64>,
    /// Frames read of it.
    index: u64,
    /// Set when no group will come any more: whether the track ended as it should.
    outcome: Option<bool>,
}

/// What reading gives.
pub(super) enum Item {
    /// A frame, with the sequence of its group and its number in it.
    Frame(u64, u64, Frame),
    /// The group is through, or broke off.
    GroupEnd,
    /// The track is.
    End,
}

impl Sequence {
    /// # Errors
    /// What the broadcast refuses a subscription with.
    pub(super) fn new(
        broadcast: &BroadcastConsumer,
        name: &str,
        subscription: Subscription,
    ) -> Result<Self> {
        Ok(Self {
            subscriber: broadcast.subscribe(name, subscription)?,
            groups: BTreeMap::new(),
            next: None,
            index: 0,
            outcome: None,
        })
    }

    /// The next thing in sequence. After [`Item::End`] always that.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        self.receive(cx);
        let Some(next) = self.next else {
            return match self.outcome {
                Some(_) => Poll::Ready(Item::End),
                None => Poll::Pending,
            };
        };
        let Some((&sequence, group)) = self.groups.iter_mut().next() else {
            return match self.outcome {
                Some(_) => Poll::Ready(Item::End),
                None => Poll::Pending,
            };
        };
        if sequence > next && self.outcome.is_none() {
            return Poll::Pending;
        }
        match group.poll_read_frame(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(Some(frame))) => {
                self.index += 1;
                Poll::Ready(Item::Frame(sequence, self.index - 1, frame))
            }
            // A group that broke off gave what it had.
            Poll::Ready(Ok(None) | Err(_)) => {
                self.groups.remove(&sequence);
                self.next = Some(sequence + 1);
                self.index = 0;
                Poll::Ready(Item::GroupEnd)
            }
        }
    }

    /// Gives up waiting for a group that is missing before one that is here; whether there was such a hole.
    pub(super) fn skip_hole(&mut self) -> bool {
        let first = self.groups.keys().next().copied();
        let hole = first.filter(|&first| self.next.is_some_and(|next| first > next));
        self.next = hole.or(self.next);
        hole.is_some()
    }

    /// The group that is read next or being read: all before it are through.
    pub(super) fn position(&self) -> u64 {
        self.next.unwrap_or(0)
    }

    /// Whether the track ended other than by its publisher's word.
    pub(super) fn is_broken(&self) -> bool {
        self.outcome == Some(false)
    }

    fn receive(&mut self, cx: &mut Context<'_>) {
        if self.next.is_none() && self.outcome.is_none() {
            match self.subscriber.poll_start(cx) {
                Poll::Pending => return,
                Poll::Ready(Ok(Some(start))) => self.next = Some(start),
                Poll::Ready(other) => self.outcome = Some(other.is_ok()),
            }
        }
        while self.outcome.is_none() {
            match self.subscriber.poll_recv_group(cx) {
                Poll::Pending => return,
                Poll::Ready(Ok(Some(group))) => {
                    self.groups.insert(group.sequence(), group);
                }
                Poll::Ready(other) => self.outcome = Some(other.is_ok()),
            }
        }
    }
}
