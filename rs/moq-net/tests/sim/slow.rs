//! Loss, slow links, slow readers.

use std::time::Duration;

use moq_net::model::Pool;
use moq_net::{Subscription, Timestamp, TrackInfo, Version};
use moq_quic::sim::Link;

use crate::net::*;

/// The first fault of the lossy path: 50 ms away, one packet in twenty lost.
const LOSSY: Link = Link {
    rate: None,
    delay: Duration::from_millis(50),
    jitter: Duration::ZERO,
    loss: 0.05,
    reorder: 0.0,
    duplicate: 0.0,
    corrupt: 0.0,
    queue: 256 << 10,
};

#[tokio::test(start_paused = true)]
async fn with_5_percent_loss_and_50_ms_delay_everything_arrives_in_order() {
    for version in [Version::Lite06, Version::Lite05] {
        let chain = Chain::with_link(version, LOSSY).await;
        let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
        let mut subscriber = consumer.subscribe("video", all()).unwrap();
        let writer = tokio::spawn(async move {
            for sequence in 0..250u64 {
                let group = track.append_group().unwrap();
                for frame in 0..4 {
                    let time = Timestamp::from_millis(sequence * 40 + frame * 10);
                    group
                        .write_frame(time, vec![sequence as u8; 3_000])
                        .unwrap();
                    sleep(10).await;
                }
                group.finish().unwrap();
            }
            track.finish().unwrap();
        });
        // In sequence, as a decoder wants them: what comes late is waited for.
        let mut frames = 0;
        let mut groups = std::collections::BTreeMap::new();
        while let Some((sequence, payloads)) = next_group(&mut subscriber).await {
            assert!(
                payloads
                    .iter()
                    .all(|payload| payload[..] == [sequence as u8; 3_000])
            );
            frames += payloads.len();
            assert_eq!(
                groups.insert(sequence, payloads.len()),
                None,
                "{sequence} came twice"
            );
        }
        writer.await.unwrap();
        assert_eq!((groups.len(), frames), (250, 1000), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn reordering_duplication_and_corruption_lose_nothing() {
    let link = Link {
        reorder: 0.1,
        duplicate: 0.1,
        corrupt: 0.02,
        loss: 0.0,
        ..LOSSY
    };
    let chain = Chain::with_link(Version::Lite06, link).await;
    let (_broadcast, track, consumer) = chain.track("video", keep_all()).await;
    let mut subscriber = consumer.subscribe("video", all()).unwrap();
    let writer = tokio::spawn(async move {
        for n in 0..100 {
            write_group(&track, vec![n; 5_000]);
            sleep(20).await;
        }
        track.finish().unwrap();
    });
    let mut got = Vec::new();
    while let Some((sequence, payloads)) = next_group(&mut subscriber).await {
        assert_eq!(payloads, [vec![sequence as u8; 5_000]]);
        got.push(sequence);
    }
    writer.await.unwrap();
    got.sort_unstable();
    assert_eq!(got, (0..100).collect::<Vec<_>>());
}

/// moq-dev/moq#2720: higher is more urgent, all the way.
#[tokio::test(start_paused = true)]
async fn on_a_slow_link_the_higher_priority_leads() {
    for version in [Version::Lite06, Version::Lite05] {
        let chain = Chain::new(version).await;
        let broadcast = chain.publisher.origin.create_broadcast("room/cam").unwrap();
        let info = || TrackInfo {
            max_age: Duration::from_secs(1),
            ..TrackInfo::default()
        };
        let low = broadcast.create_track("low", info()).unwrap();
        let high = broadcast.create_track("high", info()).unwrap();
        let consumer = chain.subscriber.find("room/cam").await;
        let wish = |priority| Subscription {
            priority,
            ..Subscription::within(Duration::from_millis(500))
        };
        let from_low = consumer.subscribe("low", wish(0)).unwrap();
        let from_high = consumer.subscribe("high", wish(255)).unwrap();
        within(from_low.info()).await.unwrap();
        within(from_high.info()).await.unwrap();
        // Each track alone fills the link.
        let slow = Link {
            rate: Some(125_000),
            queue: 20_000,
            ..Link::default()
        };
        chain.net.link(&chain.relay, &chain.subscriber, slow);
        let writer = tokio::spawn(async move {
            for _ in 0..150 {
                write_group(&low, vec![0; 4_000]);
                write_group(&high, vec![1; 4_000]);
                sleep(40).await;
            }
            low.finish().unwrap();
            high.finish().unwrap();
        });
        let (from_low, from_high) = (whole_groups(from_low), whole_groups(from_high));
        let (low, high) = (
            from_low.await.unwrap().len(),
            from_high.await.unwrap().len(),
        );
        writer.await.unwrap();
        assert!(high >= 145, "{version}: {high} of 150 of the urgent track");
        assert!(
            low < 75,
            "{version}: {low} of 150 of the other: the link was not full"
        );
    }
}

/// One SUBSCRIBE_UPDATE turns the order round.
#[tokio::test(start_paused = true)]
async fn an_update_of_the_priority_takes_effect_under_load() {
    let chain = Chain::new(Version::Lite06).await;
    let broadcast = chain.publisher.origin.create_broadcast("room/cam").unwrap();
    let info = || TrackInfo {
        max_age: Duration::from_secs(1),
        ..TrackInfo::default()
    };
    let a = broadcast.create_track("a", info()).unwrap();
    let b = broadcast.create_track("b", info()).unwrap();
    let consumer = chain.subscriber.find("room/cam").await;
    let wish = |priority| Subscription {
        priority,
        ..Subscription::within(Duration::from_millis(500))
    };
    let from_a = consumer.subscribe("a", wish(9)).unwrap();
    let from_b = consumer.subscribe("b", wish(1)).unwrap();
    within(from_a.info()).await.unwrap();
    within(from_b.info()).await.unwrap();
    let slow = Link {
        rate: Some(125_000),
        queue: 20_000,
        ..Link::default()
    };
    chain.net.link(&chain.relay, &chain.subscriber, slow);
    let writer = tokio::spawn(async move {
        for _ in 0..200 {
            write_group(&a, vec![0; 4_000]);
            write_group(&b, vec![1; 4_000]);
            sleep(40).await;
        }
        a.finish().unwrap();
        b.finish().unwrap();
    });
    let control = from_b.control();
    tokio::spawn(async move {
        sleep(4_000).await;
        control.update(wish(99));
    });
    let (from_a, from_b) = (whole_groups(from_a), whole_groups(from_b));
    let (whole_a, whole_b) = (from_a.await.unwrap(), from_b.await.unwrap());
    writer.await.unwrap();
    let split = |whole: &[u64]| {
        let before = whole.iter().filter(|&&sequence| sequence < 90).count();
        (
            before,
            whole.iter().filter(|&&sequence| sequence > 110).count(),
        )
    };
    let ((a_before, a_after), (b_before, b_after)) = (split(&whole_a), split(&whole_b));
    assert!(
        a_before > b_before + 30,
        "before: {a_before} and {b_before}"
    );
    assert!(b_after > a_after + 30, "after: {a_after} and {b_after}");
}

/// moq-dev/moq#3389: a saturated link delays no request.
#[tokio::test(start_paused = true)]
async fn requests_are_answered_while_media_fills_the_link() {
    let chain = Chain::new(Version::Lite06).await;
    let (broadcast, track, consumer) = chain.track("video", keep_all()).await;
    let _other = broadcast.create_track("other", keep_all()).unwrap();
    let mut subscriber = consumer.subscribe("video", all()).unwrap();
    within(subscriber.info()).await.unwrap();
    let delay = Duration::from_millis(10);
    let slow = Link {
        rate: Some(125_000),
        delay,
        queue: 10_000,
        ..Link::default()
    };
    chain.net.link(&chain.relay, &chain.subscriber, slow);
    for _ in 0..50 {
        write_group(&track, vec![0; 50_000]);
    }
    within(subscriber.recv_group()).await.unwrap().unwrap();
    sleep(1_000).await;
    let began = tokio::time::Instant::now();
    within(consumer.info("other")).await.unwrap();
    // Two ways of 10 ms, and what was in the 80 ms queue already.
    assert!(
        began.elapsed() < Duration::from_millis(150),
        "{:?}",
        began.elapsed()
    );
}

/// A publisher faster than the link costs what the pool allows, and the newest still gets through.
#[tokio::test(start_paused = true)]
async fn a_slow_subscriber_is_skipped_ahead_and_holds_no_memory() {
    let net = Net::new();
    let pool = Pool::new(4 << 20);
    let publisher = net.node(1);
    let relay = net.node_with(2, pool.clone(), &Version::ALL);
    let (slow, fast) = (net.node(3), net.node(4));
    let _up = publisher.publish_to(&relay, Version::Lite06).await;
    let slow_session = slow.read_from(&relay, Version::Lite06).await;
    let _fast_session = fast.read_from(&relay, Version::Lite06).await;
    let broadcast = publisher.origin.create_broadcast("cam").unwrap();
    let info = TrackInfo {
        max_age: Duration::from_secs(2),
        ..TrackInfo::default()
    };
    let track = broadcast.create_track("video", info).unwrap();
    let wish = Subscription::within(Duration::from_secs(1));
    let at_slow = slow
        .find("cam")
        .await
        .subscribe("video", wish.clone())
        .unwrap();
    let mut at_fast = fast.find("cam").await.subscribe("video", wish).unwrap();
    within(at_slow.info()).await.unwrap();
    within(at_fast.info()).await.unwrap();
    let link = Link {
        rate: Some(50_000),
        queue: 20_000,
        ..Link::default()
    };
    net.link(&relay, &slow, link);
    let writer = tokio::spawn(async move {
        for _ in 0..500 {
            write_group(&track, vec![7; 8_000]);
            sleep(40).await;
        }
        track.finish().unwrap();
    });
    let at_slow = whole_groups(at_slow);
    let mut fast_got = 0;
    while next_group(&mut at_fast).await.is_some() {
        fast_got += 1;
        assert!(
            pool.used() <= pool.capacity(),
            "{} bytes cached",
            pool.used()
        );
    }
    assert_eq!(fast_got, 500, "another's slowness cost this one");
    writer.await.unwrap();
    let slow_got = at_slow.await.unwrap();
    let (whole, newest) = (slow_got.len(), slow_got.iter().copied().max().unwrap_or(0));
    assert!(
        (60..200).contains(&whole),
        "{whole} groups through a quarter of the rate"
    );
    assert!(newest >= 490, "the newest that got through was {newest}");
    assert!(
        slow_session.stats().received_total.groups_reset > 0,
        "nothing was skipped"
    );
}

/// moqtail/moqtail#313: a reader that reads nothing is skipped ahead, and nobody waits for it.
#[tokio::test(start_paused = true)]
async fn a_reader_that_stalls_finds_the_newest_when_it_comes_back() {
    let chain = Chain::new(Version::Lite06).await;
    let info = TrackInfo {
        max_age: Duration::from_secs(1),
        ..TrackInfo::default()
    };
    let (_broadcast, track, consumer) = chain.track("video", info).await;
    let mut subscriber = consumer
        .subscribe("video", Subscription::within(Duration::from_millis(500)))
        .unwrap();
    within(subscriber.info()).await.unwrap();
    for _ in 0..200 {
        write_group(&track, vec![7; 8_000]);
        sleep(40).await;
    }
    let (sequence, _) = next_group(&mut subscriber).await.unwrap();
    assert!(sequence >= 186, "offered group {sequence} of 200");
}
