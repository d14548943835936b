//! Protocol versions and how they are agreed on.
//!
//! Owns the list of versions, newest first, and their ALPNs. Called by every message (what its fields are depends on
//! the version) and by whoever makes a connection. May not know any message.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A version of moq-lite. A later one compares greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Ranges, fetch, probe. No SETUP, no timestamps.
    Lite03,
    /// Hop ids, GOAWAY.
    Lite04,
    /// SETUP, track info, timestamps, datagrams, declared start and end.
    Lite05,
    /// Announcements by id and with costs, frame bounds.
    Lite06,
}

impl Version {
    /// All, newest first: the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Lite06, Self::Lite05, Self::Lite04, Self::Lite03];

    /// The name it is negotiated by, as a TLS ALPN or a WebTransport protocol.
    #[must_use]
    pub const fn alpn(self) -> &'static str {
        match self {
            Self::Lite03 => "moq-lite-03",
            Self::Lite04 => "moq-lite-04",
            Self::Lite05 => "moq-lite-05",
            Self::Lite06 => "moq-lite-06",
        }
    }

    /// The version negotiated as `alpn`, if it is one of ours.
    #[must_use]
    pub fn from_alpn(alpn: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.alpn().as_bytes() == alpn)
    }

    /// Whether each side sends SETUP, subscribers ask for track info, and frames carry timestamps.
    pub(crate) fn has_setup(self) -> bool {
        self >= Self::Lite05
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.alpn())
    }
}

impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::from_alpn(text.as_bytes()).ok_or(Error::Version)
    }
}

/// The ALPNs of every version, newest first: what an endpoint offers and accepts.
#[must_use]
pub fn alpns() -> Vec<Vec<u8>> {
    Version::ALL
        .iter()
        .map(|version| version.alpn().into())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_first() {
        assert!(Version::ALL.is_sorted_by(|a, b| a > b));
        assert_eq!(alpns()[0], b"moq-lite-06");
    }

    #[test]
    fn names_come_back() {
        for version in Version::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        assert_eq!("moq-lite-07".parse::<Version>(), Err(Error::Version));
    }
}
