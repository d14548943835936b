//! Send streams and datagrams: what the application may do to them.
//!
//! Called by `driver`. Nothing here touches the wire: bytes are queued, and the schedule is told.

use bytes::Bytes;
use quinn_proto::{Dir, StreamId};

use crate::{
    Error,
    schedule::{GroupId, StreamKey},
};

use super::{
    Connection, Event,
    handover::Item,
    hash,
    queue::{Phase, Stream},
    varint,
};

/// A send stream. Late keys (their stream is over) are told so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendKey {
    id: StreamId,
    index: usize,
}

impl SendKey {
    /// The stream's id on the wire.
    #[must_use]
    pub fn id(self) -> StreamId {
        self.id
    }
}

impl Connection {
    /// Opens a stream in a group. `None` while the peer allows no more: wait for [`Event::Available`].
    ///
    /// # Errors
    /// [`Error::GroupClosed`].
    pub fn open(&mut self, dir: Dir, group: GroupId, order: u64) -> Result<Option<SendKey>, Error> {
        let key = self
            .schedule
            .open_stream(group, order)
            .ok_or(Error::GroupClosed)?;
        match self.next_stream(dir) {
            Some(id) => Ok(Some(self.enter(id, key, group, order))),
            None => {
                self.schedule.close_stream(key);
                Ok(None)
            }
        }
    }

    /// Enters our half of a bidirectional stream the peer opened, into the default group.
    ///
    /// # Errors
    /// [`Error::GroupClosed`], if somebody closed the default group.
    pub fn adopt(&mut self, id: StreamId) -> Result<SendKey, Error> {
        let group = self.default_group;
        let key = self
            .schedule
            .open_stream(group, 0)
            .ok_or(Error::GroupClosed)?;
        Ok(self.enter(id, key, group, 0))
    }

    fn enter(&mut self, id: StreamId, key: StreamKey, group: GroupId, order: u64) -> SendKey {
        let index = self.streams.insert(Stream::new(id, key, group, order));
        self.ids.insert(id, index);
        self.set_item(key.index(), Item::Stream(index));
        self.groups.join(group);
        SendKey { id, index }
    }

    /// Bytes that fit under the stream's high-water mark. At 0, [`Event::Writable`] will tell of room.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::StreamClosed`].
    pub fn room(&mut self, key: SendKey) -> Result<usize, Error> {
        let high_water = self.high_water;
        let stream = self.writable(key)?;
        let room = high_water.saturating_sub(stream.queued);
        stream.full = room == 0;
        Ok(room)
    }

    /// Queues a chunk, whatever the high-water mark says.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::StreamClosed`].
    pub fn write(&mut self, key: SendKey, chunk: Bytes) -> Result<(), Error> {
        let len = chunk.len();
        let stream = self.writable(key)?;
        if len == 0 {
            return Ok(());
        }
        stream.push(chunk);
        let (key, group) = (stream.key, stream.group);
        self.schedule.push(key, len, false);
        self.stirred = true;
        self.unsent.queued += len as u64;
        self.groups.book(group, |stats| stats.queued += len as u64);
        Ok(())
    }

    /// Says that nothing will follow.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::StreamClosed`].
    pub fn finish(&mut self, key: SendKey) -> Result<(), Error> {
        let stream = self.writable(key)?;
        stream.phase = Phase::Finished;
        let key = stream.key;
        self.schedule.push(key, 0, true);
        self.stirred = true;
        Ok(())
    }

    /// Drops what is unsent and tells the peer that it will not come.
    ///
    /// # Errors
    /// [`Error::StreamClosed`] if all of it has arrived, or it was abandoned before.
    pub fn reset(&mut self, key: SendKey, code: u64) -> Result<(), Error> {
        match self.streams.get(key.index) {
            Some(stream) if stream.id == key.id && stream.phase.live() => {}
            _ => return Err(Error::StreamClosed),
        }
        self.abandon(key.index, code, Phase::Reset);
        Ok(())
    }

    /// Changes the order of a stream inside its group.
    pub fn set_order(&mut self, key: SendKey, order: u64) {
        if let Some(stream) = self.stream(key) {
            stream.order = order;
            let key = stream.key;
            self.schedule.set_stream_order(key, order);
        }
    }

    /// Moves a stream, with what it has queued, to another group.
    ///
    /// # Errors
    /// [`Error::GroupClosed`].
    pub fn set_group(&mut self, key: SendKey, group: GroupId, order: u64) -> Result<(), Error> {
        let Some(stream) = self.streams.get_mut(key.index) else {
            return Ok(());
        };
        if stream.id != key.id || !stream.phase.live() {
            return Ok(());
        }
        if !self.schedule.move_stream(stream.key, group, order) {
            return Err(Error::GroupClosed);
        }
        let queued = stream.queued as u64;
        let before = std::mem::replace(&mut stream.group, group);
        stream.order = order;
        self.groups.book(before, |stats| stats.queued -= queued);
        self.groups.book(group, |stats| stats.queued += queued);
        self.groups.join(group);
        self.groups.leave(before);
        Ok(())
    }

    /// How a stream ended: `None` while it has not; then the code the peer stopped it with, if it did.
    #[must_use]
    pub fn ended(&self, key: SendKey) -> Option<Option<u64>> {
        match self.streams.get(key.index) {
            Some(stream) if stream.id == key.id => match stream.phase {
                Phase::Open | Phase::Finished | Phase::Ended => None,
                Phase::Acked | Phase::Reset => Some(None),
                Phase::Stopped(code) => Some(Some(code)),
            },
            _ => Some(None),
        }
    }

    /// Says that the application has let go of a stream. Unfinished, it is reset with code 0.
    pub fn release(&mut self, key: SendKey) {
        let Some(stream) = self.stream(key) else {
            return;
        };
        stream.released = true;
        match stream.phase {
            Phase::Open => self.abandon(key.index, 0, Phase::Reset),
            Phase::Finished | Phase::Ended => {}
            Phase::Acked | Phase::Reset | Phase::Stopped(_) => self.remove(key.index),
        }
    }

    /// Queues a datagram in a group. Never waits.
    ///
    /// # Errors
    /// [`Error::DatagramsUnsupported`], [`Error::DatagramTooLarge`], [`Error::DatagramDropped`], [`Error::GroupClosed`].
    pub fn send_datagram(&mut self, group: GroupId, order: u64, data: Bytes) -> Result<(), Error> {
        let len = data.len();
        let max = self
            .max_datagram_size()
            .ok_or(Error::DatagramsUnsupported)?;
        if len > max {
            return Err(Error::DatagramTooLarge { len, max });
        }
        let evicted_before = self.schedule.evicted().datagrams;
        let (items, groups, unsent) = (&mut self.items, &mut self.groups, &mut self.unsent);
        let id = self.schedule.push_datagram(group, order, len, |id| {
            if let Some(Item::Datagram(group, data)) = items.get_mut(id.index()).map(std::mem::take)
            {
                unsent.queued -= data.len() as u64;
                groups.book(group, |stats| {
                    stats.queued -= data.len() as u64;
                    stats.evicted += data.len() as u64;
                });
            }
        });
        let evicted = self.schedule.evicted().datagrams - evicted_before;
        self.evicted_datagrams += evicted;
        let Some(id) = id else {
            if evicted == 0 {
                return Err(Error::GroupClosed);
            }
            self.groups.book(group, |stats| stats.evicted += len as u64);
            return Err(Error::DatagramDropped);
        };
        self.unsent.queued += len as u64;
        self.groups.book(group, |stats| stats.queued += len as u64);
        self.set_item(id.index(), Item::Datagram(group, data));
        self.stirred = true;
        Ok(())
    }

    /// The longest datagram the path takes now. `None` if the peer takes none.
    #[must_use]
    pub fn max_datagram_size(&mut self) -> Option<usize> {
        self.inner.datagrams().max_size()
    }

    pub(super) fn on_writable(&mut self, id: StreamId) {
        if let Some(stream) = self.by_id(id) {
            let key = stream.key;
            self.schedule.unblock(key);
            self.stirred = true;
        }
    }

    pub(super) fn on_finished(&mut self, id: StreamId) {
        let Some(stream) = self.by_id(id) else {
            return;
        };
        stream.phase = Phase::Acked;
        let (key, group, released) = (stream.key, stream.group, stream.released);
        self.schedule.close_stream(key);
        self.groups.leave(group);
        self.set_item(key.index(), Item::Nothing);
        let Some(index) = self.ids.remove(&id) else {
            return;
        };
        hash::shrink(&mut self.ids);
        if released {
            self.remove(index);
        } else {
            self.events.push_back(Event::Done(id));
        }
    }

    /// The peer wants no more: what it was told to expect has to be taken back (RFC 9000 §3.5).
    pub(super) fn on_stopped(&mut self, id: StreamId, code: u64) {
        let Some(&index) = self.ids.get(&id) else {
            return;
        };
        self.abandon(index, code, Phase::Stopped(code));
        self.events.push_back(Event::Writable(id));
        self.events.push_back(Event::Done(id));
    }

    fn abandon(&mut self, index: usize, code: u64, phase: Phase) {
        let stream = &mut self.streams[index];
        // First what was never handed over: of that the peer never hears, so it costs none of its credit.
        let dropped = stream.clear() as u64;
        self.unsent.queued -= dropped;
        self.unsent.remove(stream);
        self.groups.book(stream.group, |stats| {
            stats.queued -= dropped;
            stats.dropped += dropped;
        });
        stream.phase = phase;
        let (id, key, group, released) = (stream.id, stream.key, stream.group, stream.released);
        self.schedule.close_stream(key);
        self.groups.leave(group);
        self.set_item(key.index(), Item::Nothing);
        self.ids.remove(&id);
        hash::shrink(&mut self.ids);
        // Its only error is that the stream is over already.
        let _ = self.inner.send_stream(id).reset(varint(code));
        if released {
            self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) {
        self.streams.remove(index);
        if self.streams.capacity() > 64 && self.streams.len() < self.streams.capacity() / 8 {
            self.streams.shrink_to_fit();
        }
    }

    fn set_item(&mut self, index: usize, item: Item) {
        if self.items.len() <= index {
            self.items.resize_with(index + 1, Item::default);
        }
        self.items[index] = item;
        while let Some(Item::Nothing) = self.items.last() {
            self.items.pop();
        }
        if self.items.capacity() > 64 && self.items.len() < self.items.capacity() / 8 {
            self.items.shrink_to(self.items.len() * 2);
        }
    }

    fn by_id(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(*self.ids.get(&id)?)
    }

    fn stream(&mut self, key: SendKey) -> Option<&mut Stream> {
        self.streams
            .get_mut(key.index)
            .filter(|stream| stream.id == key.id)
    }

    fn writable(&mut self, key: SendKey) -> Result<&mut Stream, Error> {
        match self.stream(key) {
            Some(stream) => match stream.phase {
                Phase::Open => Ok(stream),
                Phase::Stopped(code) => Err(Error::Stopped(code)),
                _ => Err(Error::StreamClosed),
            },
            None => Err(Error::StreamClosed),
        }
    }
}
