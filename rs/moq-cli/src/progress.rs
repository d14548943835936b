//! Owns the progress bar on stderr. Called by `demo`. Shows nothing when stderr is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far the demo is, in bytes of its input.
#[derive(Clone, Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for `total` bytes of input, or only a count if that is unknown.
    pub(crate) fn new(total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(10));
        let template = match total {
            Some(_) => "sending {wide_bar} {percent:>3} %  {bytes}  {elapsed}",
            None => "sending {spinner} {bytes}  {elapsed}",
        };
        // The template is a constant: were it wrong, the default bar would do as well.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// `sent` bytes of the input are on their way.
    pub(crate) fn sent(&self, sent: u64) {
        self.0.set_position(sent);
    }

    /// Takes the bar away, for the report to stand alone.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
