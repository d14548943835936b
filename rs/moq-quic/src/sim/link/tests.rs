//! Each setting of a link does what it says.

use super::*;

fn at(ms: u64) -> Instant {
    #[allow(
        clippy::disallowed_methods,
        reason = "any instant will do, the same for all"
    )]
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    *START + Duration::from_millis(ms)
}

fn direction(link: Link) -> Direction {
    Direction::new(link, 1)
}

#[test]
fn rate_spaces_packets_and_delay_moves_them() {
    let mut link = direction(Link {
        rate: Some(1_000_000),
        delay: Duration::from_millis(20),
        ..Link::default()
    });
    assert_eq!(link.send(at(0), 1_000).unwrap().arrives, at(21));
    assert_eq!(link.send(at(0), 2_000).unwrap().arrives, at(23));
    // Idle since: no credit is saved up.
    assert_eq!(link.send(at(100), 1_000).unwrap().arrives, at(121));
}

#[test]
fn a_full_queue_drops_the_tail() {
    let mut link = direction(Link {
        rate: Some(1_000_000),
        queue: 2_500,
        ..Link::default()
    });
    assert!(link.send(at(0), 1_000).is_some());
    assert!(link.send(at(0), 1_000).is_some());
    assert!(link.send(at(0), 1_000).is_none());
    // A millisecond later a thousand bytes have left.
    assert!(link.send(at(1), 1_000).is_some());
}

#[test]
fn shares_are_kept() {
    let mut link = direction(Link {
        loss: 0.1,
        duplicate: 0.2,
        corrupt: 0.3,
        reorder: 0.4,
        delay: Duration::from_millis(5),
        ..Link::default()
    });
    let fates: Vec<_> = (0..10_000).map(|_| link.send(at(0), 100)).collect();
    let arrived: Vec<_> = fates.iter().flatten().collect();
    let share = |count: usize| count as f64 / arrived.len() as f64;
    let lost = (10_000 - arrived.len()) as f64 / 10_000.0;
    assert!((0.08..0.12).contains(&lost), "{lost}");
    let twice = share(arrived.iter().filter(|fate| fate.twice).count());
    assert!((0.18..0.22).contains(&twice), "{twice}");
    let flipped = share(arrived.iter().filter(|fate| fate.flipped.is_some()).count());
    assert!((0.28..0.32).contains(&flipped), "{flipped}");
    let late = share(arrived.iter().filter(|fate| fate.arrives == at(10)).count());
    assert!((0.38..0.42).contains(&late), "{late}");
}

#[test]
fn jitter_keeps_the_order() {
    let mut link = direction(Link {
        jitter: Duration::from_millis(30),
        ..Link::default()
    });
    let arrivals: Vec<_> = (0..1_000)
        .map(|ms| link.send(at(ms), 100).unwrap().arrives)
        .collect();
    assert!(arrivals.is_sorted());
    assert!(
        arrivals
            .iter()
            .zip(0..)
            .any(|(arrives, ms)| *arrives > at(ms + 20))
    );
}

#[test]
fn what_a_packet_meets_does_not_depend_on_other_settings() {
    let lossy = Link {
        loss: 0.2,
        ..Link::default()
    };
    let mut one = direction(lossy);
    let mut other = direction(Link {
        duplicate: 0.5,
        corrupt: 0.5,
        ..lossy
    });
    for ms in 0..1_000 {
        assert_eq!(
            one.send(at(ms), 100).is_some(),
            other.send(at(ms), 100).is_some()
        );
    }
}

#[test]
fn a_link_may_be_cut_and_joined_again() {
    let mut link = direction(Link {
        loss: 1.0,
        ..Link::default()
    });
    assert!((0..100).all(|_| link.send(at(0), 10).is_none()));
    link.link.loss = 0.0;
    assert!((0..100).all(|_| link.send(at(0), 10).is_some()));
}
