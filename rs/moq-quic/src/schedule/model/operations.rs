//! The operations, step by step as the contract tells them.

use super::{Group, Item, Model, datagram, grant, stream};
use crate::schedule::{
    DatagramId, EMPTY_FRAME, Grant, GroupConfig, GroupId, Schedule, StreamKey, key::Stamp,
    op::Operations,
};

impl Operations for Model {
    fn set_quantum(&mut self, bytes: usize) {
        self.quantum = bytes as i64;
    }

    fn open_group(&mut self, config: GroupConfig) -> GroupId {
        let id = GroupId {
            index: self.tick() as u32,
            stamp: Stamp::MAX,
        };
        self.groups.push(Group {
            id,
            config,
            closed: false,
            deficit: 0,
        });
        id
    }

    fn close_group(&mut self, id: GroupId) {
        if id != Schedule::CONTROL
            && let Some(group) = self.group(id)
        {
            group.closed = true;
            self.after(id, false);
        }
    }

    fn set_group_priority(&mut self, id: GroupId, priority: u16) {
        let queued = self.position(id).is_some();
        let Some(group) = self.group(id) else {
            return;
        };
        if id == Schedule::CONTROL || group.config.priority == priority {
            return;
        }
        group.config.priority = priority;
        if queued {
            self.leave(id);
            self.join(id);
        }
    }

    fn open_stream(&mut self, group: GroupId, order: u64) -> Option<StreamKey> {
        self.open(group).then(|| {
            let id = self.new_id();
            let came = self.tick();
            self.items.push(Item {
                id,
                is_datagram: false,
                group,
                order,
                came,
                ready: 0,
                turn: 0,
                backlog: false,
                blocked: false,
                begun: false,
                fin: false,
            });
            id
        })
    }

    fn close_stream(&mut self, stream: StreamKey) {
        self.remove(stream);
    }

    fn set_stream_order(&mut self, stream: StreamKey, order: u64) {
        let came = self.tick();
        if let Some(item) = self.item(stream)
            && item.order != order
        {
            item.order = order;
            item.came = came;
            item.turn = 0;
        }
    }

    fn move_stream(&mut self, stream: StreamKey, group: GroupId, order: u64) -> bool {
        let came = self.tick();
        let open = self.open(group);
        let Some(item) = self.item(stream).filter(|_| open) else {
            return false;
        };
        let from = item.group;
        if from == group {
            self.set_stream_order(stream, order);
            return true;
        }
        (item.group, item.order, item.came, item.turn) = (group, order, came, 0);
        let sendable = item.sendable();
        self.after(from, sendable);
        if sendable {
            self.join(group);
        }
        true
    }

    fn push(&mut self, stream: StreamKey, bytes: usize, fin: bool) {
        let came = self.tick();
        let Some(item) = self.item(stream) else {
            return;
        };
        let idle = !item.backlog;
        item.backlog = true;
        item.ready += bytes;
        item.fin |= fin;
        let (group, sendable) = (item.group, item.sendable());
        let unfair = self.group(group).is_some_and(|group| group.config.unfair);
        if let Some(item) = self.item(stream).filter(|_| idle) {
            item.turn = 0;
            if !unfair {
                item.came = came;
            }
        }
        if sendable {
            self.join(group);
        }
    }

    fn push_datagram(
        &mut self,
        group: GroupId,
        order: u64,
        len: usize,
        mut evict: impl FnMut(DatagramId),
    ) -> Option<DatagramId> {
        if !self.open(group) {
            return None;
        }
        if len > self.budget {
            self.evicted.datagrams += 1;
            self.evicted.bytes += len as u64;
            return None;
        }
        let id = self.new_id();
        let came = self.tick();
        self.items.push(Item {
            id,
            is_datagram: true,
            group,
            order,
            came,
            ready: len,
            turn: 0,
            backlog: true,
            blocked: false,
            begun: false,
            fin: false,
        });
        while self.datagram_bytes() > self.budget {
            let victim = self.victim()?;
            self.evicted.datagrams += 1;
            self.evicted.bytes += self.item(victim)?.ready as u64;
            self.remove(victim);
            if victim == id {
                return None;
            }
            evict(datagram(victim));
        }
        self.join(group);
        Some(datagram(id))
    }

    fn remove_datagram(&mut self, id: DatagramId) {
        self.remove(stream(id));
    }

    fn pop(&mut self, budget: usize) -> Option<Grant> {
        if budget == 0 {
            return None;
        }
        if let Some(item) = self.best(Schedule::CONTROL) {
            return Some(grant(item, budget));
        }
        loop {
            let (_, round) = self.rounds.last_key_value()?;
            let &front = round.front()?;
            if !self.sendable(front) {
                self.leave(front);
                continue;
            }
            let quantum = self.quantum;
            let group = self.group(front)?;
            if group.deficit <= 0 {
                group.deficit += quantum * i64::from(group.config.weight.max(1));
            }
            let deficit = group.deficit;
            if deficit <= 0 {
                self.end_turn(front, true);
                continue;
            }
            let most = budget.min(deficit.max(quantum) as usize);
            return self.best(front).map(|item| grant(item, most));
        }
    }

    fn sent(&mut self, grant: Grant, bytes: usize) {
        let (id, payer, bytes) = match grant {
            Grant::Stream { max_bytes, .. } if bytes == 0 && max_bytes > 0 => return,
            Grant::Stream { key, group, .. } => (key, group, bytes),
            Grant::Datagram { id, group, len } => (stream(id), group, len),
        };
        let spent = self.charge(payer, if bytes == 0 { EMPTY_FRAME } else { bytes });
        self.take(id, bytes);
        self.end_turn(payer, spent);
    }

    fn charge_retransmit(&mut self, group: GroupId, bytes: usize) {
        let spent = self.charge(group, bytes);
        self.end_turn(group, spent);
    }

    fn block(&mut self, stream: StreamKey) {
        if let Some(item) = self.item(stream) {
            let (group, sendable) = (item.group, item.sendable());
            item.blocked = true;
            self.after(group, sendable);
        }
    }

    fn unblock(&mut self, stream: StreamKey) {
        if let Some(item) = self.item(stream) {
            item.blocked = false;
            let (group, sendable) = (item.group, item.sendable());
            if sendable {
                self.join(group);
            }
        }
    }
}
