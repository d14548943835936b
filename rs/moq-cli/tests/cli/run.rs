//! How the tests run the binary.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// What a run that came to its end left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A run that goes on in the background; killed when dropped.
pub(crate) struct Running {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
}

/// A relay in the background.
pub(crate) struct Relay {
    pub(crate) running: Running,
    pub(crate) address: String,
    pub(crate) fingerprint: String,
}

pub(crate) fn moq(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moq"));
    command.args(args).kill_on_drop(true).env_remove("RUST_LOG");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs to the end.
pub(crate) async fn run(args: &[&str]) -> Ended {
    finish(moq(args).spawn().unwrap()).await
}

/// Waits for the end of a child whose output nobody has read yet.
pub(crate) async fn finish(child: Child) -> Ended {
    let output = within(child.wait_with_output()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Starts a run in the background.
pub(crate) fn start(args: &[&str]) -> Running {
    let mut child = moq(args).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    Running {
        child,
        stdout,
        stderr,
    }
}

impl Running {
    /// Reads stdout up to a line that has `text` in it.
    pub(crate) async fn prints(&mut self, text: &str) -> String {
        let mut before = Vec::new();
        while let Some(line) = within(self.stdout.next_line()).await.unwrap() {
            if line.contains(text) {
                return line;
            }
            before.push(line);
        }
        panic!("stdout ended without {text:?}: {before:?}");
    }

    /// Reads stderr up to a line that has `text` in it.
    pub(crate) async fn says(&mut self, text: &str) -> String {
        let mut before = Vec::new();
        while let Some(line) = within(self.stderr.next_line()).await.unwrap() {
            if line.contains(text) {
                return line;
            }
            before.push(line);
        }
        panic!("stderr ended without {text:?}: {before:?}");
    }

    /// Kills it, as `kill -9` does.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Asks it to stop, as `kill` does.
    pub(crate) async fn terminate(&self) {
        let id = self.child.id().unwrap().to_string();
        assert!(
            Command::new("kill")
                .arg(id)
                .status()
                .await
                .unwrap()
                .success()
        );
    }

    /// Waits for its end.
    pub(crate) async fn end(mut self) -> Ended {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        // What was read by lines is gone; the rest may still tell.
        let mut out = self.stdout.into_inner();
        let mut err = self.stderr.into_inner();
        let (status, _, _) = within(async {
            tokio::join!(
                self.child.wait(),
                out.read_to_string(&mut stdout),
                err.read_to_string(&mut stderr)
            )
        })
        .await;
        Ended {
            code: status.unwrap().code(),
            stdout,
            stderr,
        }
    }
}

impl Relay {
    /// A relay where everything is public.
    pub(crate) async fn open() -> Self {
        Self::new("127.0.0.1:0", &["--auth-public", "**"]).await
    }

    pub(crate) async fn new(listen: &str, more: &[&str]) -> Self {
        let args = [
            &["relay", "--listen", listen, "--tls-generate", "localhost"],
            more,
        ]
        .concat();
        let mut running = start(&args);
        let line = running.prints("listening on").await;
        let address = line.split(' ').nth(2).unwrap().to_owned();
        let line = running.prints("SHA-256").await;
        let fingerprint = line.split(' ').next_back().unwrap().to_owned();
        Self {
            running,
            address,
            fingerprint,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/", self.address)
    }
}

/// A sample transport stream.
pub(crate) fn clip() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/clip.ts")
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("it took too long")
}
