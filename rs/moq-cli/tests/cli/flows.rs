//! A transport stream from one process to another, and what happens when one of them dies.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::run::*;

const NAME: [&str; 2] = ["--broadcast", "cam"];

fn connect<'a>(command: &'a str, url: &'a str) -> Vec<&'a str> {
    [&[command, "--connect", url, "--tls-insecure"], &NAME[..]].concat()
}

/// A place to write to, gone with the test.
struct Output {
    _dir: tempfile::TempDir,
    path: String,
}

impl Output {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.ts").to_str().unwrap().to_owned();
        Self { _dir: dir, path }
    }

    fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |facts| facts.len())
    }

    /// Waits until there are more than `bytes` in it.
    async fn grows_past(&self, bytes: u64) {
        within(async {
            while self.bytes() <= bytes {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }

    /// What `moq check` finds in it is neither damage nor a wrong clock.
    async fn grades_well(&self) {
        let ended = run(&["check", "--json", &self.path]).await;
        let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(report["constant_rate"], true, "{report}");
        assert!(
            report["clocks"][0]["accuracy_ns"].as_f64().unwrap() <= 37.0,
            "{report}"
        );
        for finding in report["findings"].as_array().unwrap() {
            let id = finding["id"].as_str().unwrap();
            assert!(!id.starts_with("1.") && !id.starts_with("2.3"), "{finding}");
        }
    }
}

/// The sample, unpaced, through a relay and whatever the versions say; the output grades clean.
async fn round_trip(relay: &Relay, versions: [&[&str]; 2]) {
    let (url, path, output) = (relay.url(), clip(), Output::new());
    let path = path.to_str().unwrap();
    let [publisher, subscriber] = versions;
    let subscribe = [
        &connect("subscribe", &url)[..],
        &["--output", &output.path],
        subscriber,
    ];
    let subscribing = start(&subscribe.concat());
    let publish = [
        &connect("publish", &url)[..],
        &["--no-pace", path],
        publisher,
    ];
    let published = run(&publish.concat()).await;
    assert_eq!(published.code, Some(0), "{published:?}");
    let subscribed = subscribing.end().await;
    assert_eq!(subscribed.code, Some(0), "{subscribed:?}");
    let sent = std::fs::metadata(path).unwrap().len();
    assert!(
        output.bytes() > sent * 9 / 10,
        "{} of {sent} bytes",
        output.bytes()
    );
    output.grades_well().await;
}

#[tokio::test]
async fn the_demo_passes() {
    let output = Output::new();
    let ended = run(&["demo", "--no-pace", "--output", &output.path]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stdout
            .contains("verdict  PASS: everything arrived unchanged"),
        "{ended:?}"
    );
    let ended = run(&["demo", "--no-pace", "--json", "--output", &output.path]).await;
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["passed"], true);
    assert_eq!(report["tracks"][0]["frames"]["delivered"], 250);
    assert_eq!(report["tracks"][1]["frames"]["lost"], 0);
    output.grades_well().await;
}

#[tokio::test]
async fn publish_relay_subscribe() {
    round_trip(&Relay::open().await, [&[], &[]]).await;
}

#[tokio::test]
async fn each_version_with_the_other() {
    let relay = Relay::open().await;
    let [newer, older] = [["--protocol", "moq-lite-06"], ["--protocol", "moq-lite-05"]];
    round_trip(&relay, [&newer, &older]).await;
    round_trip(&relay, [&older, &newer]).await;
}

#[tokio::test]
async fn without_a_relay_the_publisher_listens() {
    let path = clip();
    let publish = [
        "publish",
        "--listen",
        "127.0.0.1:0",
        "--tls-generate",
        "localhost",
    ];
    let input = ["--no-pace", path.to_str().unwrap()];
    let mut publishing = start(&[&publish[..], &NAME, &input].concat());
    let line = publishing.says("listening on").await;
    let url = format!("https://{}/", line.split(' ').nth(2).unwrap());
    let output = Output::new();
    let subscribe = [&connect("subscribe", &url)[..], &["--output", &output.path]].concat();
    let subscribed = run(&subscribe).await;
    assert_eq!(subscribed.code, Some(0), "{subscribed:?}");
    assert_eq!(publishing.end().await.code, Some(0));
    output.grades_well().await;
}

#[tokio::test]
async fn without_a_relay_the_subscriber_listens() {
    let output = Output::new();
    let subscribe = [
        "subscribe",
        "--listen",
        "127.0.0.1:0",
        "--tls-generate",
        "localhost",
    ];
    let mut subscribing = start(&[&subscribe[..], &NAME, &["--output", &output.path]].concat());
    let line = subscribing.says("listening on").await;
    let url = format!("https://{}/", line.split(' ').nth(2).unwrap());
    let path = clip();
    let input = ["--no-pace", path.to_str().unwrap()];
    let published = run(&[&connect("publish", &url)[..], &input].concat()).await;
    assert_eq!(published.code, Some(0), "{published:?}");
    assert_eq!(subscribing.end().await.code, Some(0));
    output.grades_well().await;
}

#[tokio::test]
async fn from_stdin_to_stdout() {
    let relay = Relay::open().await;
    let url = relay.url();
    let mut subscribing = moq(&connect("subscribe", &url)).spawn().unwrap();
    let mut stdout = subscribing.stdout.take().unwrap();
    let file = std::fs::File::open(clip()).unwrap();
    let publish = [&connect("publish", &url)[..], &["--no-pace", "-"]].concat();
    let publishing = moq(&publish).stdin(Stdio::from(file)).spawn().unwrap();
    let mut bytes = Vec::new();
    within(stdout.read_to_end(&mut bytes)).await.unwrap();
    assert_eq!(finish(publishing).await.code, Some(0));
    assert_eq!(finish(subscribing).await.code, Some(0));
    assert!(
        bytes.len() > 2_000_000 && bytes.len().is_multiple_of(188),
        "{}",
        bytes.len()
    );
}

#[tokio::test]
async fn a_reader_of_the_output_that_goes_away_is_no_error() {
    let relay = Relay::open().await;
    let url = relay.url();
    let path = clip();
    let mut subscribing = moq(&connect("subscribe", &url)).spawn().unwrap();
    let mut stdout = subscribing.stdout.take().unwrap();
    let publish = [
        &connect("publish", &url)[..],
        &[path.to_str().unwrap(), "--loop"],
    ]
    .concat();
    let _publishing = start(&publish);
    within(stdout.read_exact(&mut [0; 188])).await.unwrap();
    drop(stdout);
    let ended = finish(subscribing).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("moq: "), "{ended:?}");
}

#[tokio::test]
async fn what_is_live_is_listed_as_it_comes_and_goes() {
    let relay = Relay::open().await;
    let url = relay.url();
    let list = ["announced", "--connect", &url, "--tls-insecure"];
    let mut everything = start(&list);
    let elsewhere = start(&[&list[..], &["other"]].concat());
    let path = clip();
    let publish = [&connect("publish", &url)[..], &[path.to_str().unwrap()]].concat();
    let publishing = start(&publish);
    everything.prints("+ cam").await;
    publishing.terminate().await;
    assert_eq!(publishing.end().await.code, Some(0));
    everything.prints("- cam").await;
    elsewhere.terminate().await;
    assert_eq!(elsewhere.end().await.stdout, "");
}

#[tokio::test]
async fn unknown_broadcast() {
    let relay = Relay::open().await;
    let url = relay.url();
    let path = clip();
    let publish = [&connect("publish", &url)[..], &[path.to_str().unwrap()]].concat();
    let mut publishing = start(&publish);
    publishing.says("publishing cam").await;
    let output = Output::new();
    let args = [
        "subscribe",
        "--connect",
        &url,
        "--tls-insecure",
        "--broadcast",
        "cma",
    ];
    let args = [&args[..], &["--timeout", "500ms", "--output", &output.path]].concat();
    let ended = run(&args).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let expected = "moq: no broadcast cma after 500 ms; live there: cam; check the name";
    assert!(ended.stderr.contains(expected), "{ended:?}");
}

#[tokio::test]
async fn a_publisher_killed_and_restarted_is_gone_on_with() {
    let relay = Relay::open().await;
    let (url, path, output) = (relay.url(), clip(), Output::new());
    let subscribe = [&connect("subscribe", &url)[..], &["--output", &output.path]].concat();
    let mut subscribing = start(&subscribe);
    let publish = [
        &connect("publish", &url)[..],
        &[path.to_str().unwrap(), "--loop"],
    ]
    .concat();
    let mut first = start(&publish);
    output.grows_past(100_000).await;
    first.kill().await;
    let _second = start(&publish);
    subscribing.says("going on with").await;
    output.grows_past(output.bytes() + 200_000).await;
    subscribing.terminate().await;
    assert_eq!(subscribing.end().await.code, Some(0));
    assert!(output.bytes().is_multiple_of(188));
}

#[tokio::test]
async fn a_relay_restarted_is_reconnected_to() {
    let relay = Relay::open().await;
    let (url, path, output) = (relay.url(), clip(), Output::new());
    let subscribe = [&connect("subscribe", &url)[..], &["--output", &output.path]].concat();
    let mut subscribing = start(&subscribe);
    let publish = [
        &connect("publish", &url)[..],
        &[path.to_str().unwrap(), "--loop"],
    ]
    .concat();
    let mut publishing = start(&publish);
    output.grows_past(100_000).await;
    relay.running.terminate().await;
    publishing.says("trying again in").await;
    subscribing.says("trying again in").await;
    let address = relay.address.clone();
    assert_eq!(relay.running.end().await.code, Some(0));
    let _restarted = Relay::new(&address, &["--auth-public", "**"]).await;
    publishing.says("connected again to").await;
    subscribing.says("connected again to").await;
    output.grows_past(output.bytes() + 200_000).await;
}
