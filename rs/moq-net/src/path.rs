//! Names of broadcasts.
//!
//! Owns normalising and prefix matching by whole segment. Called by the origin and by the wire, on text that a peer
//! may have chosen. May not know what is published under a path.

use std::fmt;
use std::sync::Arc;

use crate::{Error, Result};

/// Most parts a path may have.
pub const MAX_PARTS: usize = 32;

/// A normalised broadcast path: parts joined by single `/`, none leading or trailing.
///
/// Cloning is O(1). The empty path is the root; it is a prefix of every path.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Arc<str>);

impl Path {
    /// Normalises `text`: trims `/` at both ends and collapses runs of it. O(length).
    ///
    /// # Errors
    /// [`Error::PathTooLong`] beyond [`MAX_PARTS`] parts.
    pub fn new(text: impl AsRef<str>) -> Result<Self> {
        let text = text.as_ref();
        let count = split(text).count();
        if count > MAX_PARTS {
            return Err(Error::PathTooLong);
        }
        if is_normal(text) {
            return Ok(Self(text.into()));
        }
        let mut normal = String::with_capacity(text.len());
        for part in split(text) {
            if !normal.is_empty() {
                normal.push('/');
            }
            normal.push_str(part);
        }
        Ok(Self(normal.into()))
    }

    /// The empty path, prefix of all.
    #[must_use]
    pub fn root() -> Self {
        Self("".into())
    }

    /// The normalised text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The parts, first to last; none for the root.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        split(&self.0)
    }

    /// Whether `prefix` matches by whole parts: `foo` matches `foo/bar`, not `foobar`.
    #[must_use]
    pub fn has_prefix(&self, prefix: &Self) -> bool {
        self.suffix(prefix).is_some()
    }

    /// What is left of the path below `prefix`, or `None` if it isn't below it.
    #[must_use]
    pub fn strip_prefix(&self, prefix: &Self) -> Option<Self> {
        if prefix.is_empty() {
            return Some(self.clone());
        }
        self.suffix(prefix).map(|rest| Self(rest.into()))
    }

    /// The path `suffix` below this one.
    ///
    /// # Errors
    /// [`Error::PathTooLong`] beyond [`MAX_PARTS`] parts.
    pub fn join(&self, suffix: &Self) -> Result<Self> {
        match (self.is_empty(), suffix.is_empty()) {
            (true, _) => Ok(suffix.clone()),
            (_, true) => Ok(self.clone()),
            _ => Self::new(format!("{self}/{suffix}")),
        }
    }

    /// Whether a part below `prefix` starts with `.`: such broadcasts are not listed unless asked for by name.
    #[must_use]
    pub fn is_hidden_below(&self, prefix: &Self) -> bool {
        self.suffix(prefix)
            .is_some_and(|rest| split(rest).any(|part| part.starts_with('.')))
    }

    fn suffix(&self, prefix: &Self) -> Option<&str> {
        if prefix.is_empty() {
            return Some(&self.0);
        }
        let rest = self.0.strip_prefix(&*prefix.0)?;
        if rest.is_empty() {
            Some(rest)
        } else {
            rest.strip_prefix('/')
        }
    }
}

impl Default for Path {
    fn default() -> Self {
        Self::root()
    }
}

impl AsRef<str> for Path {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split('/').filter(|part| !part.is_empty())
}

fn is_normal(text: &str) -> bool {
    !text.starts_with('/') && !text.ends_with('/') && !text.contains("//")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> Path {
        Path::new(text).unwrap()
    }

    #[test]
    fn slashes_are_trimmed_and_collapsed() {
        assert_eq!(path("//a///b/").as_str(), "a/b");
        assert_eq!(path("/"), Path::root());
    }

    #[test]
    fn prefixes_match_whole_parts() {
        assert!(path("foo/bar").has_prefix(&path("foo")));
        assert!(!path("foobar").has_prefix(&path("foo")));
        assert!(path("foo").has_prefix(&path("foo")));
        assert!(path("foo").has_prefix(&Path::root()));
        assert_eq!(path("a/b/c").strip_prefix(&path("a")), Some(path("b/c")));
        assert_eq!(path("a").strip_prefix(&path("a/b")), None);
    }

    #[test]
    fn thirty_two_parts_at_most() {
        assert!(Path::new("a/".repeat(MAX_PARTS)).is_ok());
        assert_eq!(
            Path::new("a/".repeat(MAX_PARTS + 1)),
            Err(Error::PathTooLong)
        );
        let deep = path(&"a/".repeat(20));
        assert_eq!(deep.join(&deep), Err(Error::PathTooLong));
    }

    #[test]
    fn dots_hide_below_the_prefix_only() {
        assert!(path("a/.b/c").is_hidden_below(&path("a")));
        assert!(!path("a/.b/c").is_hidden_below(&path("a/.b")));
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(text in "[a/.]{0,40}") {
            if let Ok(once) = Path::new(&text) {
                prop_assert_eq!(&Path::new(once.as_str()).unwrap(), &once);
                let parts: Vec<_> = text.split('/').filter(|part| !part.is_empty()).collect();
                prop_assert_eq!(once.as_str(), parts.join("/"));
            }
        }

        #[test]
        fn stripping_undoes_joining(a in "[ab/]{0,12}", b in "[ab/]{0,12}") {
            let (a, b) = (path(&a), path(&b));
            prop_assert_eq!(a.join(&b).unwrap().strip_prefix(&a), Some(b));
        }
    }
}
