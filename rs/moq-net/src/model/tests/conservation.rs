//! Delivered + late + gone + outside = appended, whatever happens to the groups.

use proptest::prelude::*;

use super::*;
use crate::Error;

#[derive(Clone, Debug)]
enum Op {
    Write { frames: u64, end: u8 },
    Receive(usize),
    Expire,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..4u64, 0..4u8).prop_map(|(frames, end)| Op::Write { frames, end }),
        4 => (0..3usize).prop_map(Op::Receive),
        1 => Just(Op::Expire),
    ]
}

proptest! {
    #[test]
    fn nothing_is_lost_count_of(ops in prop::collection::vec(op(), 1..200), room in 2..40u64) {
        let pool = Pool::new(room * 1_024);
        let broadcast = Broadcast::new(pool.clone());
        let info = TrackInfo { max_age: Duration::from_secs(2), ..TrackInfo::default() };
        let track = broadcast.create_track("video", info).unwrap();
        let mut subscribers = [
            track.subscribe(within(0)),
            track.subscribe(within(700)),
            track.subscribe(Subscription { start: Some(3), end: Some(40), ..within(2_000) }),
        ];
        let mut delivered = [0u64; 3];
        let (mut appended, mut open, mut clock) = (0u64, Vec::new(), 0);
        for op in ops {
            match op {
                Op::Write { frames, end } => {
                    let group = track.append_group().unwrap();
                    (0..frames).for_each(|index| frame(&group, appended * 100 + index * 20));
                    appended += 1;
                    match end {
                        0 => group.abort(Error::Cancel),
                        1 => group.finish().unwrap(),
                        2 => open.push(group),
                        _ => open.clear(),
                    }
                }
                Op::Receive(index) => {
                    delivered[index] += arrived(&mut subscribers[index]).len() as u64;
                }
                Op::Expire => {
                    clock += 20;
                    pool.expire(Duration::from_secs(clock), Duration::from_secs(30));
                }
            }
        }
        // One last group with a frame: its reader passes everything before it.
        write(&track, appended);
        for (subscriber, mut delivered) in subscribers.iter_mut().zip(delivered) {
            delivered += arrived(subscriber).len() as u64;
            let counts = subscriber.counts();
            prop_assert_eq!(counts.delivered, delivered);
            let sum = counts.delivered + counts.late + counts.gone + counts.outside;
            prop_assert_eq!(sum, appended + 1);
        }
    }
}
