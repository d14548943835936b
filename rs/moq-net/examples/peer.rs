//! A peer to talk to by hand or by script: listens or dials, and does what each line of its input says.
//!
//! ```text
//! peer listen 127.0.0.1:4443 [moq-lite-05]
//! peer connect 127.0.0.1:4443 [moq-lite-05] [path?query]
//! ```
//!
//! | line | what it does | what it prints |
//! |---|---|---|
//! | `announced` | follows what is announced | `+ PATH HOPS`, `- PATH` |
//! | `create PATH`, `close PATH` | publishes a broadcast, or stops | |
//! | `track PATH NAME PRIORITY AGE SCALE` | makes a track; age in ms | `made NAME` |
//! | `group PATH NAME TEXT…` | writes a group, a frame a word | `wrote SEQUENCE` |
//! | `bulk PATH NAME COUNT SIZE` | writes groups of one large frame | `wrote SEQUENCE` |
//! | `half PATH NAME TEXT CODE` | writes a frame, then aborts the group | `wrote SEQUENCE` |
//! | `datagram PATH NAME TEXT` | | `wrote SEQUENCE` |
//! | `finish PATH NAME` | ends the track | |
//! | `used PATH NAME`, `unused PATH NAME` | waits for it | `used`, `unused` |
//! | `demand PATH NAME` | what is asked for now | `demand PRIORITY AGE` |
//! | `read PATH NAME PRIORITY AGE START END` | subscribes; `-` for no bound | `info`, `group`, `datagram`, `end`, `error` |
//! | `update NAME PRIORITY AGE`, `leave NAME` | changes or drops that subscription | |
//! | `fetch PATH NAME SEQUENCE` | | `group`, or `error` |
//! | `goaway URI` | to every session | |
//! | `quit` | closes with code 0 | |

use std::collections::HashMap;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use moq_net::model::{Announce, Control};
use moq_net::{
    Broadcast, GroupConsumer, Origin, OriginConfig, Session, SessionConfig, Subscriber,
    Subscription, Timescale, Timestamp, Track, TrackInfo, Version,
};
use moq_quic::tls::{Identity, Trust};
use moq_quic::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: peer listen|connect ADDRESS [VERSION] [PATH]";
    let (how, addr) = (args.next().ok_or(usage)?, args.next().ok_or(usage)?);
    let addr: SocketAddr = addr.parse()?;
    let version = args.next();
    let alpn = match &version {
        Some(name) if name != "-" => vec![Version::from_str(name)?.alpn().into()],
        _ => moq_net::alpns(),
    };
    let hop = Some(u64::from(std::process::id()) << 20 | 1);
    let origin = Origin::with_config(OriginConfig {
        hop,
        ..OriginConfig::default()
    });
    let sessions = Arc::<Mutex<Vec<Session>>>::default();
    let config = SessionConfig {
        publish: Some(origin.clone()),
        subscribe: Some(origin.clone()),
        path: args.next(),
        cost: None,
    };
    let endpoint = if how == "listen" {
        let identity = Identity::generate(&["localhost".into()])?;
        let server = ServerConfig {
            transport: transport(),
            ..ServerConfig::new(identity, alpn)
        };
        let endpoint = Endpoint::server(addr, server)?;
        say(format!("listening {}", endpoint.local_addr()?));
        tokio::spawn(listen(endpoint.clone(), config, sessions.clone()));
        endpoint
    } else {
        let endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
        let client = ClientConfig {
            transport: transport(),
            ..ClientConfig::new(Trust::Insecure, alpn)
        };
        let conn = endpoint.connect(addr, "localhost", client).await?;
        follow(Session::connect(conn, config).await?, &sessions);
        endpoint
    };
    let mut peer = Peer {
        origin,
        sessions,
        ..Peer::default()
    };
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let words: Vec<_> = line.split_whitespace().collect();
        if words == ["quit"] {
            break;
        }
        if let Err(error) = peer.obey(&words).await {
            say(format!("failed {line}: {error}"));
        }
    }
    endpoint.close(0, "");
    endpoint.wait_idle().await;
    Ok(())
}

fn transport() -> TransportConfig {
    TransportConfig {
        keep_alive: Some(Duration::from_secs(5)),
        max_bi_streams: 1024,
        max_uni_streams: 1024,
        ..TransportConfig::default()
    }
}

async fn listen(endpoint: Endpoint, config: SessionConfig, sessions: Arc<Mutex<Vec<Session>>>) {
    while let Some(incoming) = endpoint.accept().await {
        let (config, sessions) = (config.clone(), sessions.clone());
        tokio::spawn(async move {
            let request = Session::accept(incoming.accept().await?).await?;
            say(format!("path {}", request.path()));
            follow(request.serve(config), &sessions);
            Ok::<_, Failure>(())
        });
    }
}

fn follow(session: Session, sessions: &Mutex<Vec<Session>>) {
    say(format!("session {}", session.version()));
    sessions.lock().expect("no panic").push(session.clone());
    tokio::spawn(async move {
        tokio::select! {
            uri = session.goaway_received() => say(format!("goaway {uri}")),
            error = session.closed() => return say(format!("closed {error:?}")),
        }
        say(format!("closed {:?}", session.closed().await));
    });
}

fn say(line: String) {
    println!("{line}");
}

#[derive(Default)]
struct Peer {
    origin: Origin,
    sessions: Arc<Mutex<Vec<Session>>>,
    broadcasts: HashMap<String, Broadcast>,
    tracks: HashMap<(String, String), Track>,
    readers: HashMap<String, (Control, tokio::task::JoinHandle<()>)>,
}

impl Peer {
    async fn obey(&mut self, words: &[&str]) -> Result<(), Failure> {
        match *words {
            [] => {}
            ["announced"] => {
                tokio::spawn(announced(self.origin.clone()));
            }
            ["create", path] => {
                self.broadcasts
                    .insert(path.into(), self.origin.create_broadcast(path)?);
            }
            ["close", path] => {
                self.tracks.retain(|(of, _), _| of != path);
                self.broadcasts.remove(path);
            }
            ["track", path, name, priority, age, scale] => {
                let info = TrackInfo {
                    priority: priority.parse()?,
                    max_age: Duration::from_millis(age.parse()?),
                    timescale: Timescale::new(scale.parse()?)?,
                };
                let broadcast = self.broadcasts.get(path).ok_or("no such broadcast")?;
                let track = broadcast.create_track(name, info)?;
                self.tracks.insert((path.into(), name.into()), track);
                say(format!("made {name}"));
            }
            ["group", path, name, ref frames @ ..] => {
                let group = self.track(path, name)?.append_group()?;
                for (index, frame) in frames.iter().enumerate() {
                    group.write_frame(at(group.sequence(), index), frame.to_string())?;
                }
                say(format!("wrote {}", group.sequence()));
                group.finish()?;
            }
            ["bulk", path, name, count, size] => {
                let size = size.parse()?;
                for _ in 0..count.parse()? {
                    let group = self.track(path, name)?.append_group()?;
                    let byte = group.sequence() as u8;
                    group.write_frame(at(group.sequence(), 0), vec![byte; size])?;
                    say(format!("wrote {}", group.sequence()));
                    group.finish()?;
                }
            }
            ["half", path, name, frame, code] => {
                let group = self.track(path, name)?.append_group()?;
                group.write_frame(at(group.sequence(), 0), frame.to_string())?;
                say(format!("wrote {}", group.sequence()));
                tokio::time::sleep(Duration::from_millis(200)).await;
                group.abort(moq_net::Error::App(code.parse()?));
            }
            ["datagram", path, name, text] => {
                let track = self.track(path, name)?;
                say(format!(
                    "wrote {}",
                    track.append_datagram(at(0, 0), text.to_string())?
                ));
            }
            ["finish", path, name] => self.track(path, name)?.finish()?,
            ["used", path, name] => {
                self.track(path, name)?.used().await;
                say("used".into());
            }
            ["unused", path, name] => {
                self.track(path, name)?.unused().await;
                say("unused".into());
            }
            ["demand", path, name] => match self.track(path, name)?.demand().current() {
                Some(wish) => {
                    say(format!(
                        "demand {} {}",
                        wish.priority,
                        wish.max_age.as_millis()
                    ));
                }
                None => say("demand none".into()),
            },
            ["read", path, name, ref wish @ ..] => self.read(path, name, wish).await?,
            ["update", name, priority, age] => {
                let (control, _) = self.readers.get(name).ok_or("not reading that")?;
                control.update(Subscription {
                    priority: priority.parse()?,
                    max_age: Duration::from_millis(age.parse()?),
                    ..control.subscription()
                });
            }
            ["leave", name] => {
                let (_, reader) = self.readers.remove(name).ok_or("not reading that")?;
                reader.abort();
            }
            ["fetch", path, name, sequence] => {
                let broadcast = self.origin.wait_broadcast(path).await?;
                match broadcast.fetch(name, sequence.parse()?).await {
                    Ok(group) => print_group(name, group).await,
                    Err(error) => say(format!("error {name} {error:?}")),
                }
            }
            ["goaway", uri] => {
                let sessions = self.sessions.lock().expect("no panic").clone();
                for session in sessions {
                    session.goaway(uri).await?;
                }
            }
            _ => return Err("no such command".into()),
        }
        Ok(())
    }

    fn track(&self, path: &str, name: &str) -> Result<&Track, Failure> {
        Ok(self
            .tracks
            .get(&(path.into(), name.into()))
            .ok_or("no such track")?)
    }

    async fn read(&mut self, path: &str, name: &str, wish: &[&str]) -> Result<(), Failure> {
        let number = |at: usize| wish.get(at).and_then(|word| word.parse::<u64>().ok());
        let wish = Subscription {
            priority: number(0).unwrap_or(0) as u8,
            max_age: Duration::from_millis(number(1).unwrap_or(0)),
            start: number(2),
            end: number(3),
            ..Subscription::default()
        };
        let broadcast = self.origin.wait_broadcast(path).await?;
        let subscriber = broadcast.subscribe(name, wish)?;
        let control = subscriber.control();
        let reader = tokio::spawn(read(name.to_owned(), subscriber));
        self.readers.insert(name.to_owned(), (control, reader));
        Ok(())
    }
}

/// Frames are 20 ms apart, groups a second.
fn at(sequence: u64, index: usize) -> Timestamp {
    Timestamp::from_millis(sequence * 1000 + index as u64 * 20)
}

async fn announced(origin: Origin) {
    let mut announced = origin.announced("");
    while let Some(announce) = announced.next().await {
        match announce {
            Announce::Active { path, route, .. } | Announce::Restart { path, route, .. } => {
                say(format!("+ {path} {:?}", route.hops));
            }
            Announce::Ended { path } => say(format!("- {path}")),
        }
    }
}

async fn read(name: String, mut subscriber: Subscriber) {
    match subscriber.info().await {
        Ok(info) => {
            let (age, scale) = (info.max_age.as_millis(), info.timescale.get());
            say(format!("info {name} {} {age} {scale}", info.priority));
        }
        Err(error) => return say(format!("error {name} {error:?}")),
    }
    let mut groups = JoinSet::new();
    // Either may come first, and neither may keep the other waiting.
    enum Next {
        Group(moq_net::Result<Option<GroupConsumer>>),
        Datagram(moq_net::Datagram),
    }
    loop {
        let next = std::future::poll_fn(|cx| match subscriber.poll_recv_datagram(cx) {
            Poll::Ready(Ok(Some(datagram))) => Poll::Ready(Next::Datagram(datagram)),
            _ => subscriber.poll_recv_group(cx).map(Next::Group),
        });
        match next.await {
            Next::Group(Ok(Some(group))) => {
                let name = name.clone();
                groups.spawn(async move { print_group(&name, group).await });
            }
            Next::Group(end) => {
                while groups.join_next().await.is_some() {}
                return match end {
                    Err(error) => say(format!("error {name} {error:?}")),
                    Ok(_) => say(format!("end {name}")),
                };
            }
            Next::Datagram(datagram) => {
                let text = String::from_utf8_lossy(&datagram.payload).into_owned();
                say(format!("datagram {name} {} {text}", datagram.sequence));
            }
        }
    }
}

async fn print_group(name: &str, mut group: GroupConsumer) {
    let (mut frames, mut bytes, mut text) = (0, 0, String::new());
    let outcome = loop {
        match group.read_frame().await {
            Ok(Some(frame)) => {
                frames += 1;
                bytes += frame.payload.len();
                if bytes <= 200 {
                    let word = String::from_utf8_lossy(&frame.payload);
                    text += &format!(" {}:{word}", frame.timestamp.as_millis());
                }
            }
            Ok(None) => break "whole".to_owned(),
            Err(error) => break format!("{error:?}"),
        }
    };
    say(format!(
        "group {name} {} {frames} {bytes} {outcome}{text}",
        group.sequence()
    ));
}
