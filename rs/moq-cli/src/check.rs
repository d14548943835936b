//! Owns `moq check`: reads a transport stream, and prints what the checker found. Called by `main`; how
//! it looks on a screen is `text`'s.

pub(crate) mod text;

use moq_mux::ts::check::Check;

use crate::args::CheckArgs;
use crate::error::Error;
use crate::input::Input;
use crate::say::print;

/// How much is read at once.
const READ: usize = 256 << 10;

/// Grades the input; whether nothing was wrong with it.
pub(crate) async fn run(args: CheckArgs) -> Result<bool, Error> {
    let mut input = Input::open(&args.input).await?;
    let mut check = Check::new();
    let mut buffer = vec![0; READ];
    loop {
        let read = input.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        check.push(&buffer[..read]);
    }
    let report = check.finish();
    let media = |cause| Error::Media {
        name: input.name().into(),
        cause,
    };
    if report.bytes == 0 {
        return Err(media(moq_mux::Error::Empty));
    }
    if report.packets == 0 {
        return Err(media(moq_mux::Error::NotTransportStream(report.bytes)));
    }
    if args.json {
        print(serde_json::to_string_pretty(&report).unwrap_or_default())?;
    } else {
        print(text::of(input.name(), &report))?;
    }
    Ok(report.passed())
}
