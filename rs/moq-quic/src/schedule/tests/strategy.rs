//! Operations that shrink well.

use proptest::{collection::vec, option, prelude::*};

use crate::schedule::{Direction, GroupConfig, op::Op};

/// Up to `most` operations, of every kind, over few priorities and orders.
pub(super) fn operations(most: usize) -> impl Strategy<Value = Vec<Op>> {
    vec(operation(), 0..most)
}

fn operation() -> impl Strategy<Value = Op> {
    let pick = 0..64_u32;
    prop_oneof![
        6 => group().prop_map(|config| Op::OpenGroup { config }),
        2 => pick.clone().prop_map(|group| Op::CloseGroup { group }),
        6 => (pick.clone(), priority()).prop_map(|(group, priority)| Op::SetGroupPriority { group, priority }),
        8 => (pick.clone(), order()).prop_map(|(group, order)| Op::OpenStream { group, order }),
        4 => pick.clone().prop_map(|stream| Op::CloseStream { stream }),
        3 => (pick.clone(), order()).prop_map(|(stream, order)| Op::SetStreamOrder { stream, order }),
        3 => (pick.clone(), pick.clone(), order())
            .prop_map(|(stream, group, order)| Op::MoveStream { stream, group, order }),
        14 => (pick.clone(), 0..5_000_u32, any::<bool>())
            .prop_map(|(stream, bytes, fin)| Op::Push { stream, bytes, fin }),
        5 => (pick.clone(), order(), 0..2_000_u16)
            .prop_map(|(group, order, len)| Op::PushDatagram { group, order, len }),
        1 => pick.clone().prop_map(|datagram| Op::RemoveDatagram { datagram }),
        20 => (0..3_000_u16, 0..300_u16).prop_map(|(budget, of_256)| Op::Serve { budget, of_256 }),
        3 => (0..3_000_u16).prop_map(|budget| Op::ServeLate { budget }),
        3 => (pick.clone(), 0..6_000_u16).prop_map(|(group, bytes)| Op::Retransmit { group, bytes }),
        4 => pick.clone().prop_map(|stream| Op::Block { stream }),
        4 => pick.prop_map(|stream| Op::Unblock { stream }),
        1 => (1..3_000_u16).prop_map(|bytes| Op::SetQuantum { bytes }),
    ]
}

fn group() -> impl Strategy<Value = GroupConfig> {
    let direction = prop_oneof![Just(Direction::NewestFirst), Just(Direction::OldestFirst)];
    (
        priority(),
        0..4_u8,
        direction,
        any::<bool>(),
        option::of(0..4_000_usize),
    )
        .prop_map(
            |(priority, weight, direction, unfair, finish)| GroupConfig {
                priority,
                weight,
                direction,
                unfair,
                finish,
            },
        )
}

fn priority() -> impl Strategy<Value = u16> {
    prop_oneof![4 => 0..3_u16, 1 => any::<u16>()]
}

/// Mostly few, with ties; sometimes any.
pub(super) fn order() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..6_u64, 1 => u64::MAX - 2..=u64::MAX, 1 => any::<u64>()]
}
