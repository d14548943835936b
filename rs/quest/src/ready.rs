//! Which plans can be started today: facts in, answers out.
//!
//! Called by the command. A quest without `Required` is ready; finishing one deletes it and every reference to it, so no
//! state is kept anywhere else.

use crate::{
    Error, Kind, Quest, Tree,
    rules::{children_listed, required},
};

/// What stands before one quest.
#[derive(Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing: start.
    Ready,
    /// These, as root-absolute paths, or the line of an outside condition in plain text.
    Blocked(Vec<String>),
}

/// What stands before `quest` itself.
pub fn status(quest: &Quest) -> Status {
    let blockers: Vec<_> = required(quest)
        .iter()
        .map(|entry| match &entry.opening {
            Some(link) => link.target.clone(),
            None => format!("{}:{}: an outside condition", quest.path, entry.line),
        })
        .collect();
    if blockers.is_empty() {
        Status::Ready
    } else {
        Status::Blocked(blockers)
    }
}

/// Quests without blockers at or beneath `path` (`quest`, `quest/m0`, `/quest/m0/name.md`), in the order their READMEs
/// rank them.
pub fn ready<'t>(tree: &'t Tree, path: &str) -> Result<Vec<&'t Quest>, Error> {
    let absolute = format!("/{}", path.trim_matches('/'));
    let start = tree
        .target(&absolute)
        .ok_or_else(|| Error::Unknown(path.to_owned()))?;
    let mut found = Vec::new();
    collect(tree, start, &mut found);
    Ok(found)
}

fn collect<'t>(tree: &'t Tree, quest: &'t Quest, found: &mut Vec<&'t Quest>) {
    if quest.kind == Kind::Quest {
        if status(quest) == Status::Ready {
            found.push(quest);
        }
        return;
    }
    for entry in children_listed(quest) {
        let child = entry
            .opening
            .as_ref()
            .and_then(|link| tree.target(&link.target));
        // Only downwards: a README that lists its own parent is a finding of `check`, not a loop here.
        if let Some(child) = child.filter(|child| child.parent() == Some(quest.folder())) {
            collect(tree, child, found);
        }
    }
}
