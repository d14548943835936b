//! Owns who may read and publish which paths. Pure: patterns and paths in, prefixes out. Called by
//! `session` once it knows which path a client asks for; knows no connection and no origin.
//!
//! Nothing is public unless said: an empty [`Auth`] grants nothing to anybody.

use std::fmt;
use std::str::FromStr;

use moq_net::Path;

/// A subtree of paths: `**` is every path, `room` and `room/**` both are `room` and all below it.
///
/// Paths are compared by whole parts, so `room` does not cover `roommate`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Pattern {
    top: Path,
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let all = text == "**" || text == "/**";
        let top = if all {
            ""
        } else {
            text.strip_suffix("/**").unwrap_or(text)
        };
        let top = Path::new(top).map_err(|_| PatternError::Long(text.into()))?;
        if top.is_empty() && !all {
            return Err(PatternError::Empty);
        }
        if top.as_str().contains('*') {
            return Err(PatternError::Star(text.into()));
        }
        Ok(Self { top })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.top.is_empty() {
            f.write_str("**")
        } else {
            write!(f, "{}/**", self.top)
        }
    }
}

/// Why a pattern can't be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// There was no path in it.
    #[error("an empty pattern covers nothing: write '**' for every path")]
    Empty,
    /// A star stands for less than a whole subtree.
    #[error("'{0}': a star is only understood as '**' at the end, as in 'room/**'")]
    Star(String),
    /// It has more parts than a path may have.
    #[error("'{0}' has more than 32 parts: no path is that deep")]
    Long(String),
}

/// What is public, in each direction.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Auth {
    /// Who connects may read these.
    pub read: Vec<Pattern>,
    /// Who connects may publish these.
    pub publish: Vec<Pattern>,
}

impl Auth {
    /// Everything is public, both ways.
    pub fn everything() -> Self {
        let all = vec![Pattern { top: Path::root() }];
        Self {
            read: all.clone(),
            publish: all,
        }
    }

    /// What a session rooted at `root` may do. Cost: O(patterns²), both lists being short.
    pub fn grant(&self, root: &Path) -> Grant {
        Grant {
            read: within(root, &self.read),
            publish: within(root, &self.publish),
        }
    }
}

/// What one session may do: paths relative to its root, each with all that is below it. The empty
/// path is the root itself. No path lies below another.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Grant {
    /// May be read.
    pub read: Vec<Path>,
    /// May be published.
    pub publish: Vec<Path>,
}

impl Grant {
    /// There is nothing such a session could do.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.publish.is_empty()
    }
}

/// The parts of the public subtrees that lie at or below `root`.
fn within(root: &Path, public: &[Pattern]) -> Vec<Path> {
    if public.iter().any(|pattern| root.has_prefix(&pattern.top)) {
        return vec![Path::root()];
    }
    let below: Vec<Path> = public
        .iter()
        .filter_map(|pattern| pattern.top.strip_prefix(root))
        .collect();
    let mut kept: Vec<Path> = Vec::new();
    for (index, path) in below.iter().enumerate() {
        let covered = below
            .iter()
            .any(|other| other != path && path.has_prefix(other));
        if !covered && !below[..index].contains(path) {
            kept.push(path.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<Pattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn path(text: &str) -> Path {
        Path::new(text).unwrap()
    }

    fn read(public: &[&str], root: &str) -> Vec<String> {
        let auth = Auth {
            read: patterns(public),
            publish: Vec::new(),
        };
        auth.grant(&path(root))
            .read
            .iter()
            .map(|path| path.as_str().to_owned())
            .collect()
    }

    #[test]
    fn nothing_is_public_unless_said() {
        for root in ["", "room", "a/b/c"] {
            assert!(Auth::default().grant(&path(root)).is_empty());
        }
    }

    #[test]
    fn two_stars_cover_every_path() {
        assert_eq!(read(&["**"], ""), [""]);
        assert_eq!(read(&["**"], "/room//a/"), [""]);
        let both = Auth {
            read: patterns(&["**"]),
            publish: patterns(&["**"]),
        };
        assert_eq!(Auth::everything(), both);
    }

    #[test]
    fn a_pattern_covers_its_path_and_all_below_by_whole_part() {
        for public in ["room", "room/**", "/room/"] {
            assert_eq!(read(&[public], "room"), [""]);
            assert_eq!(read(&[public], "room/a"), [""]);
            assert!(read(&[public], "roommate").is_empty());
            assert!(read(&[public], "other").is_empty());
        }
    }

    #[test]
    fn a_session_above_a_public_path_is_confined_to_it() {
        assert_eq!(read(&["a/b", "c"], ""), ["a/b", "c"]);
        assert_eq!(read(&["a/b", "c"], "a"), ["b"]);
    }

    #[test]
    fn a_path_below_another_is_left_out() {
        assert_eq!(read(&["a/b/c", "a", "a/b", "a"], ""), ["a"]);
        assert_eq!(read(&["a/b/c", "ab"], ""), ["a/b/c", "ab"]);
    }

    #[test]
    fn reading_and_publishing_are_granted_apart() {
        let auth = Auth {
            read: patterns(&["**"]),
            publish: patterns(&["studio/**"]),
        };
        let grant = auth.grant(&path("studio/one"));
        assert_eq!((grant.read.len(), grant.publish.len()), (1, 1));
        let grant = auth.grant(&path("lobby"));
        assert_eq!((grant.read.len(), grant.publish.len()), (1, 0));
        assert!(!grant.is_empty());
    }

    #[test]
    fn a_star_elsewhere_is_refused_not_misread() {
        for text in ["*", "room/*", "*/room", "**/room", "ro*m", "***", "room**"] {
            assert!(
                matches!(text.parse::<Pattern>(), Err(PatternError::Star(_))),
                "{text}"
            );
        }
        for text in ["", "/", "//"] {
            assert_eq!(text.parse::<Pattern>(), Err(PatternError::Empty));
        }
        let deep = "a/".repeat(33);
        assert!(matches!(
            deep.parse::<Pattern>(),
            Err(PatternError::Long(_))
        ));
    }

    #[test]
    fn a_pattern_prints_as_it_is_understood() {
        for (text, shown) in [("**", "**"), ("room", "room/**"), ("a//b/**", "a/b/**")] {
            let pattern: Pattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), shown);
            assert_eq!(pattern.to_string().parse(), Ok(pattern));
        }
    }
}
