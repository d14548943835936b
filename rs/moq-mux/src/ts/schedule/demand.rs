//! Whether what waits can be in time, and the rate at which it could.
//!
//! By each deadline all units due until then must have gone through. That is necessary, and for a single queue in order of
//! deadlines also enough; what buffers hold back is left out.

use super::lane::Lane;
use crate::ts::clock::HZ_27M;
use crate::ts::slot::{PACKET_BITS, Slot};

/// Scratch memory for the deadlines.
#[derive(Debug, Default)]
pub(super) struct Demand {
    due: Vec<(i64, u32)>,
}

impl Demand {
    /// The lowest rate in bit/s that meets every deadline from the start of `slot` on, when it is above the slot's.
    /// Deadlines that have passed are left out: no rate meets them.
    pub(super) fn needed(&mut self, lanes: &[Lane], slot: Slot, overhead: u64) -> Option<u64> {
        let start = slot.start();
        self.due.clear();
        let media = lanes.iter().filter(|lane| !lane.goes_first);
        let units = media
            .flat_map(Lane::queue)
            .map(|unit| (unit.dts, unit.left));
        self.due.extend(units);
        self.due.sort_unstable();
        let mut packets = 0u64;
        let mut worst = 0u128;
        for &(dts, left) in &self.due {
            packets += u64::from(left);
            let ticks = dts.saturating_sub(start);
            // In less than a slot rounding would decide.
            if ticks >= crate::ts::slot::SLOT {
                let rate = u128::from(packets) * u128::from(HZ_27M) / ticks as u128;
                worst = worst.max(rate);
            }
        }
        let needed = (worst + u128::from(overhead)) * u128::from(PACKET_BITS);
        u64::try_from(needed)
            .ok()
            .filter(|&needed| needed > slot.rate.bits())
    }
}
