//! The order of packets inside a slot: every PID as even as its count allows.
//!
//! Packet i of a lane with c packets over a span of s positions lands inside its window ⌊i·s/c⌋ … ⌈(i+1)·s/c⌉, so at any
//! point of the span a lane is less than one packet away from its even share. That bound is what admission to a
//! transport buffer of 512 bytes stands on ([`super::tstd`]); it holds whenever the lanes ask for no more than the slot
//! has (Σ c/s ≤ 1), for any number of them. Called by the multiplexer; knows only counts.
//!
//! Windows of this kind always fit (Baruah et al., proportionate progress, 1996). They are filled in order of their ends,
//! each packet in the first free position of its window: were none free, the packets before it in the run that covers
//! the window would all end inside it, and would be more than the run has room for. Sorting is by counting and free
//! positions are found by union and find, so a slot costs O(packets), whatever the number of lanes; nothing is allocated
//! once the scratch memory has grown to the largest slot.

/// What a lane sends in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many packets.
    pub count: u32,
    /// Over how many positions from the start of the slot they are spread; at most those of the slot.
    pub span: u32,
}

/// Works out orders, keeping its scratch memory between slots.
#[derive(Debug, Default)]
pub struct Layout {
    order: Vec<u16>,
    /// By position: the nearest free one at or after it, through links.
    free: Vec<u32>,
    /// By end of window: the first of a list in `items`, plus one.
    ends: Vec<u32>,
    items: Vec<Item>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    /// Next of the same end, plus one.
    next: u32,
    /// First position of the window.
    from: u32,
    lane: u16,
}

impl Layout {
    /// A position no lane takes.
    pub const FREE: u16 = u16::MAX;

    /// The lane of each of `positions` positions, [`Layout::FREE`] where none sends.
    ///
    /// The first packet of lane `first` takes position 0. Packets beyond `positions` in all are left out, from the last
    /// lanes. At most 65,535 lanes.
    pub fn place(&mut self, positions: usize, shares: &[Share], first: Option<usize>) -> &[u16] {
        self.order.clear();
        self.order.resize(positions, Self::FREE);
        self.free.clear();
        self.free.extend(0..=positions as u32);
        self.ends.clear();
        self.ends.resize(positions + 1, 0);
        self.items.clear();

        let asked: usize = shares.iter().map(|share| share.count as usize).sum();
        let mut surplus = asked.saturating_sub(positions);
        // Backwards, as lists grow at their front: equal ends are then served by the lower lane first.
        for (lane, &share) in shares.iter().enumerate().rev() {
            let cut = surplus.min(share.count as usize);
            surplus -= cut;
            let count = share.count - cut as u32;
            if count > 0 {
                let span = share.span.clamp(1, positions as u32);
                self.windows(lane as u16, count, span, first == Some(lane));
            }
        }
        for end in 1..=positions {
            let mut link = self.ends[end];
            while link > 0 {
                let Item { next, from, lane } = self.items[link as usize - 1];
                link = next;
                let mut at = take(&mut self.free, from as usize);
                if at >= positions {
                    // Only when more is asked than fits: late in its window, but sent.
                    at = take(&mut self.free, 0);
                }
                self.order[at] = lane;
            }
        }
        &self.order
    }

    /// Lists the windows of a lane by their ends.
    fn windows(&mut self, lane: u16, count: u32, span: u32, opens: bool) {
        let (step, rest) = (span / count, span % count);
        let (mut from, mut over) = (0, 0);
        for index in 0..count {
            let (mut next, mut carry) = (from + step, over + rest);
            if carry >= count {
                carry -= count;
                next += 1;
            }
            let mut end = next + u32::from(carry > 0);
            if index == 0 && opens {
                end = 1;
            }
            let link = &mut self.ends[end.max(1) as usize];
            self.items.push(Item {
                next: *link,
                from,
                lane,
            });
            *link = self.items.len() as u32;
            (from, over) = (next, carry);
        }
    }
}

/// Takes the first free position at or after `from`; the last index when there is none.
#[inline]
fn take(free: &mut [u32], from: usize) -> usize {
    let mut at = from;
    loop {
        let next = free[at] as usize;
        if next == at {
            break;
        }
        // Halve the path for whoever comes later.
        let after = free[next];
        free[at] = after;
        at = after as usize;
    }
    if at + 1 < free.len() {
        free[at] = at as u32 + 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn even(counts: &[u32], positions: usize) -> Vec<Share> {
        counts
            .iter()
            .map(|&count| Share {
                count,
                span: positions as u32,
            })
            .collect()
    }

    /// Checks the promise: each packet of each lane inside its window, but for the opening one.
    fn assert_in_windows(order: &[u16], shares: &[Share], first: Option<usize>) {
        for (lane, share) in shares.iter().enumerate() {
            let places: Vec<u32> = (0..order.len() as u32)
                .filter(|&at| usize::from(order[at as usize]) == lane)
                .collect();
            assert_eq!(places.len(), share.count as usize, "lane {lane}");
            for (index, &at) in places.iter().enumerate() {
                let index = index as u32;
                assert!(
                    at >= index * share.span / share.count,
                    "lane {lane}: {index} at {at}"
                );
                assert!(
                    at < ((index + 1) * share.span).div_ceil(share.count),
                    "lane {lane}: {index} at {at}"
                );
            }
        }
        if let Some(first) = first.filter(|&first| shares[first].count > 0) {
            assert_eq!(usize::from(order[0]), first);
        }
    }

    proptest! {
        #[test]
        fn every_packet_lands_in_its_window(
            mut counts in prop::collection::vec(prop_oneof![3 => 0..20u32, 1 => 0..400u32], 1..40),
            spare in 0..200usize,
            first in any::<prop::sample::Index>(),
        ) {
            let first = first.index(counts.len());
            counts[first] = counts[first].max(1);
            let positions = counts.iter().sum::<u32>() as usize + spare;
            let shares = even(&counts, positions);
            let mut layout = Layout::default();
            let order = layout.place(positions, &shares, Some(first));
            assert_in_windows(order, &shares, Some(first));
        }

        #[test]
        fn short_spans_hold_while_the_lanes_fit(
            lanes in prop::collection::vec((1..10u32, 1..400u32), 1..12),
        ) {
            let positions = 400;
            // Leave out lanes once Σ c/s would pass one.
            let mut load = 0.0;
            let shares: Vec<Share> = lanes
                .into_iter()
                .map(|(count, span)| Share { count: count.min(span), span })
                .filter(|share| {
                    let more = f64::from(share.count) / f64::from(share.span);
                    let fits = load + more < 0.999;
                    load += if fits { more } else { 0.0 };
                    fits
                })
                .collect();
            let mut layout = Layout::default();
            let order = layout.place(positions, &shares, None);
            assert_in_windows(order, &shares, None);
        }

        #[test]
        fn more_than_fits_fills_the_slot(
            counts in prop::collection::vec(0..50u32, 1..10),
            span in 0..300u32,
            positions in 1..100usize,
        ) {
            let shares: Vec<Share> = counts.iter().map(|&count| Share { count, span }).collect();
            let mut layout = Layout::default();
            let order = layout.place(positions, &shares, None);
            let placed = order.iter().filter(|&&lane| lane != Layout::FREE).count();
            prop_assert_eq!(placed, positions.min(counts.iter().sum::<u32>() as usize));
        }
    }

    #[test]
    fn a_dense_lane_among_sparse_ones_never_bunches() {
        // The slot of a published report: 416 packets, 358 of them video, which ran 12 in a row.
        let counts = [359, 9, 5, 5, 5, 1];
        let mut layout = Layout::default();
        let order = layout.place(416, &even(&counts, 416), Some(0)).to_vec();
        let mut run = 0;
        let longest = order.iter().map(|&lane| {
            run = if lane == 0 { run + 1 } else { 0 };
            run
        });
        assert!(longest.max() <= Some(9));
    }

    #[test]
    fn the_same_layout_serves_slots_of_any_size() {
        let mut layout = Layout::default();
        for positions in [5, 1663, 7, 1662] {
            let shares = even(&[1, 2, 1], positions);
            let order = layout.place(positions, &shares, Some(2)).to_vec();
            assert_eq!(order, Layout::default().place(positions, &shares, Some(2)));
            assert_eq!(order[0], 2);
        }
    }
}
