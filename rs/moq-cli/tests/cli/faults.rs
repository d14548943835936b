//! What goes wrong is said in one line that names the thing and the fix, and the status tells.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;

use crate::run::*;

/// The one line a failed run leaves, without what it said while things still went well.
fn complaint(ended: &Ended) -> &str {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    let mut lines = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("moq: "));
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("it says nothing: {ended:?}"));
    assert_eq!(lines.next(), None, "one line is enough");
    assert_eq!(ended.stderr.lines().last(), Some(line), "{ended:?}");
    line
}

/// The complaint of a run has all these words in it.
async fn complains(args: &[&str], words: &[&str]) {
    let ended = run(args).await;
    let line = complaint(&ended);
    for word in words {
        assert!(line.contains(word), "{word:?} is missing in: {line}");
    }
}

fn write(name: &str, contents: &[u8]) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, contents).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

/// Publishing to nowhere: the input is looked at before anybody is dialled.
fn publish(input: &str) -> Vec<&str> {
    vec![
        "publish",
        "--connect",
        "https://127.0.0.1:9/",
        "--broadcast",
        "x",
        input,
    ]
}

#[tokio::test]
async fn not_a_transport_stream() {
    let (_dir, text) = write("notes.txt", &b"this is no video. ".repeat(500));
    let words = ["notes.txt", "not an MPEG transport stream", "ffmpeg"];
    complains(&publish(&text), &words).await;
    complains(&["check", &text], &words).await;
    complains(&["demo", "--input", &text], &words).await;
}

#[tokio::test]
async fn not_a_transport_stream_on_stdin() {
    let mut child = moq(&publish("-")).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(&b"neither is this. ".repeat(500))
        .await
        .unwrap();
    drop(stdin);
    let ended = finish(child).await;
    assert!(
        complaint(&ended).contains("stdin: not an MPEG transport stream"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn missing_file() {
    let words = ["no-such.ts", "there is no such file", "check the path"];
    complains(&publish("no-such.ts"), &words).await;
    complains(&["check", "no-such.ts"], &words).await;
    complains(&["demo", "--input", "no-such.ts"], &words).await;
}

#[tokio::test]
async fn a_directory_for_a_file() {
    complains(&publish("/tmp"), &["/tmp", "directory", "give a file"]).await;
}

#[tokio::test]
async fn empty_file() {
    let (_dir, empty) = write("empty.ts", b"");
    complains(&publish(&empty), &["empty.ts", "empty"]).await;
    complains(&["check", &empty], &["empty.ts", "empty"]).await;
    complains(&["demo", "--input", &empty], &["empty.ts", "empty"]).await;
}

#[tokio::test]
async fn a_loop_of_stdin() {
    let args = [&publish("-")[..], &["--loop"]].concat();
    complains(&args, &["stdin", "--loop needs a file"]).await;
}

#[tokio::test]
async fn unresolvable_url() {
    let args = ["announced", "--connect", "https://nowhere.invalid:4443/"];
    complains(
        &args,
        &["nowhere.invalid", "cannot resolve", "check the name"],
    )
    .await;
}

#[tokio::test]
async fn a_url_that_is_none() {
    let args = ["announced", "--connect", "127.0.0.1:4443"];
    complains(&args, &["127.0.0.1:4443", "https://127.0.0.1:4443/"]).await;
}

#[tokio::test]
async fn refused_certificate() {
    let relay = Relay::open().await;
    let url = relay.url();
    let connect = ["announced", "--connect", &url];
    complains(&connect, &[&url, "certificate", "--tls-fingerprint"]).await;
    let other = "00".repeat(32);
    let pinned = [&connect[..], &["--tls-fingerprint", &other]].concat();
    complains(
        &pinned,
        &[&url, "certificate", &relay.fingerprint, "compare"],
    )
    .await;
}

#[tokio::test]
async fn port_in_use() {
    let relay = Relay::open().await;
    let again = [
        "relay",
        "--listen",
        &relay.address,
        "--tls-generate",
        "localhost",
    ];
    complains(&again, &[&relay.address, "in use", "choose another"]).await;
}

#[tokio::test]
async fn no_certificate_to_show() {
    let args = ["relay", "--listen", "127.0.0.1:0"];
    complains(&args, &["no certificate", "--tls-generate localhost"]).await;
    let args = [
        "relay",
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        "a.pem",
        "--tls-key",
        "b.pem",
    ];
    complains(&args, &["a.pem", "--tls-cert"]).await;
}

#[tokio::test]
async fn path_not_authorised() {
    let relay = Relay::new("127.0.0.1:0", &["--auth-public", "lobby/**"]).await;
    let url = format!("{}vault", relay.url());
    let pin = ["--tls-fingerprint", &relay.fingerprint];
    let args = [&["announced", "--connect", &url], &pin[..]].concat();
    complains(
        &args,
        &[&url, "nothing at '/vault' is public", "--auth-public"],
    )
    .await;
}

#[tokio::test]
async fn a_broadcast_that_may_not_be_published() {
    let relay = Relay::new("127.0.0.1:0", &["--auth-public", "lobby/**"]).await;
    let url = relay.url();
    let clip = clip();
    let args = [
        &["publish", "--connect", &url, "--broadcast", "vault"][..],
        &["--tls-fingerprint", &relay.fingerprint],
        &[clip.to_str().unwrap()],
    ];
    complains(&args.concat(), &["'vault'", &url, "--auth-public"]).await;
}

#[tokio::test]
async fn nothing_is_public_unless_said() {
    let mut relay = Relay::new("127.0.0.1:0", &[]).await;
    relay.running.says("nothing is public").await;
    let url = relay.url();
    let args = [
        "announced",
        "--connect",
        &url,
        "--tls-fingerprint",
        &relay.fingerprint,
    ];
    complains(&args, &[&url, "nothing at '/' is public"]).await;
}

#[tokio::test]
async fn no_common_version() {
    let relay = Relay::new("127.0.0.1:0", &["--protocol", "moq-lite-06"]).await;
    let url = relay.url();
    let args = [
        "announced",
        "--connect",
        &url,
        "--tls-insecure",
        "--protocol",
        "moq-lite-05",
    ];
    complains(&args, &[&url, "versions", "--protocol"]).await;
}

#[tokio::test]
async fn a_wrong_option_says_what_would_be_right() {
    for (args, words) in [
        (&["relay", "--listen", "localhost"][..], &["ADDR:PORT"][..]),
        (
            &["relay", "--listen", "127.0.0.1:0", "--auth-public", "a/*"],
            &["'room/**'"],
        ),
        (
            &["subscribe", "--broadcast", "x"],
            &["--connect", "--listen"],
        ),
        (
            &["announced", "--connect", "x", "--protocol", "moq-9"],
            &["moq-lite-06", "moq-lite-05"],
        ),
        (
            &["announced", "--connect", "x", "--tls-fingerprint", "abcd"],
            &["64 hexadecimal digits"],
        ),
        (
            &[
                "subscribe",
                "--connect",
                "x",
                "--broadcast",
                "x",
                "--delay",
                "5",
            ],
            &["5ms or 5s"],
        ),
    ] {
        let ended = run(args).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        for word in words {
            assert!(
                ended.stderr.contains(word),
                "{word:?} is missing in: {}",
                ended.stderr
            );
        }
    }
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_error() {
    let path = clip();
    let mut child = moq(&["check", path.to_str().unwrap()]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = finish(child).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}
