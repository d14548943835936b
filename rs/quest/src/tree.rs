//! The `quest/` folder as a list of documents with their places.
//!
//! Called by the command and the tests. The one module that touches the disk.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::Document;

/// Why the tree could not be read at all; what is wrong inside it is a [`Finding`](crate::Finding).
#[derive(Debug, Error)]
pub enum Error {
    /// There is no `quest` folder beneath the root.
    #[error(
        "{0} is not a folder: run this at the root of the repository, or name the root with --root"
    )]
    NoTree(PathBuf),
    /// A file or folder refused to be read.
    #[error("can't read {path}: {source}")]
    Read {
        /// What was being read.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path asked about is neither a quest nor a questline.
    #[error("there is no quest or questline {0}: give a path such as quest/m0 or quest/m0/name.md")]
    Unknown(String),
}

/// What a file stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `quest/README.md`: lists the milestones.
    Root,
    /// A folder's `README.md`: lists the folder's children. Milestones are questlines too.
    Line,
    /// Any other Markdown file: one piece of work.
    Quest,
}

/// One file of the tree.
#[derive(Debug, Clone)]
pub struct Quest {
    /// Root-absolute with `/`: `/quest/m0/name.md`.
    pub path: String,
    /// What it stands for.
    pub kind: Kind,
    /// What it says.
    pub document: Document,
}

impl Quest {
    /// The folder the file is in, root-absolute.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The folder whose README must list this file: its own, or for a README the one above.
    pub fn parent(&self) -> Option<&str> {
        match self.kind {
            Kind::Root => None,
            Kind::Line => self.folder().rsplit_once('/').map(|(above, _)| above),
            Kind::Quest => Some(self.folder()),
        }
    }
}

/// Every plan of a repository.
#[derive(Debug, Default)]
pub struct Tree {
    /// By root-absolute path.
    pub quests: BTreeMap<String, Quest>,
    /// Folders without a README, root-absolute.
    pub unlisted_folders: Vec<String>,
    /// The repository's root: links are resolved against it.
    pub root: PathBuf,
}

impl Tree {
    /// Reads `root/quest` and all beneath it.
    pub fn load(root: &Path) -> Result<Self, Error> {
        let mut tree = Self {
            root: root.to_owned(),
            ..Self::default()
        };
        if !root.join("quest").is_dir() {
            return Err(Error::NoTree(root.join("quest")));
        }
        tree.load_folder("/quest")?;
        Ok(tree)
    }

    /// Where a link in a quest leads, if that is a file of the tree: a folder stands for its README.
    pub fn target(&self, link: &str) -> Option<&Quest> {
        let path = without_fragment(link).trim_end_matches('/');
        self.quests
            .get(path)
            .or_else(|| self.quests.get(&format!("{path}/README.md")))
    }

    fn load_folder(&mut self, folder: &str) -> Result<(), Error> {
        let place = self.root.join(folder.trim_start_matches('/'));
        let read = |source| Error::Read {
            path: place.clone(),
            source,
        };
        let mut has_readme = false;
        for entry in fs::read_dir(&place).map_err(read)? {
            let entry = entry.map_err(read)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            if entry.file_type().map_err(read)?.is_dir() {
                self.load_folder(&path)?;
            } else if name.ends_with(".md") {
                has_readme |= name == "README.md";
                self.load_file(path, &entry.path())?;
            }
        }
        if !has_readme {
            self.unlisted_folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn load_file(&mut self, path: String, place: &Path) -> Result<(), Error> {
        let source = fs::read_to_string(place).map_err(|source| Error::Read {
            path: place.to_owned(),
            source,
        })?;
        let kind = match path.as_str() {
            "/quest/README.md" => Kind::Root,
            _ if path.ends_with("/README.md") => Kind::Line,
            _ => Kind::Quest,
        };
        let document = Document::parse(&source);
        self.quests.insert(
            path.clone(),
            Quest {
                path,
                kind,
                document,
            },
        );
        Ok(())
    }
}

/// A link's path alone.
pub(crate) fn without_fragment(link: &str) -> &str {
    link.split_once('#').map_or(link, |(path, _)| path)
}
