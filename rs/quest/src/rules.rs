//! What every plan must look like, rule by rule: facts in, findings out.
//!
//! Called by the command. Each rule is one function; a broken tree for each is in `tests/tree.rs`. Knows the format, not
//! how Markdown or the disk are read (except that a link's target must exist).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{Entry, Kind, Quest, Tree, tree::without_fragment};

const SIZES: [&str; 5] = ["XS", "S", "M", "L", "XL"];
const HEADINGS: [&str; 5] = ["Goal", "Plan", "Required", "Closes", "Related"];
/// Sections that are lists and nothing else.
const LISTS: [&str; 3] = ["Required", "Closes", "Related"];

/// Something wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Root-absolute path of the file.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}:{}: {}",
            self.path.trim_start_matches('/'),
            self.line,
            self.message
        )
    }
}

/// Everything wrong with the tree, by path and line. O(files + links).
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Findings::default();
    for folder in &tree.unlisted_folders {
        findings.add(
            &format!("{folder}/README.md"),
            1,
            "missing: a folder is a questline and needs its README",
        );
    }
    for quest in tree.quests.values() {
        title(quest, &mut findings);
        links(tree, quest, &mut findings);
        if quest.kind == Kind::Root {
            continue;
        }
        place(quest, &mut findings);
        headings(quest, &mut findings);
        goal(quest, &mut findings);
        lists(quest, &mut findings);
        blockers(quest, &mut findings);
    }
    index(tree, &mut findings);
    cycles(tree, &mut findings);
    findings.0.sort();
    findings.0.dedup();
    findings.0
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.0.push(Finding {
            path: path.to_owned(),
            line,
            message: message.into(),
        });
    }
}

/// One title; a quest's carries its size, a questline's doesn't.
fn title(quest: &Quest, findings: &mut Findings) {
    let titles = &quest.document.titles;
    let Some(first) = titles.first() else {
        findings.add(&quest.path, 1, "no title: the first line is `# [S] Title`");
        return;
    };
    for extra in &titles[1..] {
        findings.add(
            &quest.path,
            extra.line,
            "a second title: one file is one plan",
        );
    }
    let size = first
        .text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "));
    match (quest.kind, size) {
        (Kind::Quest, None) => {
            findings.add(
                &quest.path,
                first.line,
                "no size: write `# [XS|S|M|L|XL] Title`",
            );
        }
        (Kind::Quest, Some((size, _))) if !SIZES.contains(&size) => findings.add(
            &quest.path,
            first.line,
            format!("size [{size}] is none of {}", SIZES.join(" ")),
        ),
        (Kind::Root | Kind::Line, Some(_)) => {
            findings.add(
                &quest.path,
                first.line,
                "a questline has no size: its children have",
            );
        }
        _ => {}
    }
}

/// Milestones at the top, quests inside them.
fn place(quest: &Quest, findings: &mut Findings) {
    let mut names = quest.path.trim_start_matches("/quest/").split('/');
    let top = names.next().unwrap_or_default();
    if names.next().is_none() {
        findings.add(
            &quest.path,
            1,
            "a quest belongs in a milestone: move it to m0, m1, … or future",
        );
    } else if top != "future" && !is_milestone(top) {
        findings.add(
            &quest.path,
            1,
            format!("`{top}` is no milestone: m0, m1, … or future"),
        );
    }
}

fn is_milestone(name: &str) -> bool {
    name.strip_prefix('m').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// A closed set of headings, each at most once, in order.
fn headings(quest: &Quest, findings: &mut Findings) {
    let mut next = 0;
    for section in &quest.document.sections {
        let heading = &section.heading;
        match HEADINGS.iter().position(|known| *known == heading.text) {
            None => findings.add(
                &quest.path,
                heading.line,
                format!(
                    "heading `{}` is none of {}",
                    heading.text,
                    HEADINGS.join(", ")
                ),
            ),
            Some(at) if at < next => findings.add(
                &quest.path,
                heading.line,
                format!(
                    "heading `{}` again or out of order: {}",
                    heading.text,
                    HEADINGS.join(", ")
                ),
            ),
            Some(at) => next = at + 1,
        }
    }
}

/// A goal: what will be seen to be true.
fn goal(quest: &Quest, findings: &mut Findings) {
    match quest.document.section("Goal") {
        None => findings.add(
            &quest.path,
            1,
            "no `## Goal`: say what will be seen to be true",
        ),
        Some(goal) if goal.prose.is_none() && goal.entries.is_empty() => {
            findings.add(&quest.path, goal.heading.line, "the goal is empty");
        }
        Some(_) => {}
    }
}

/// List sections hold a list, and not an empty one.
fn lists(quest: &Quest, findings: &mut Findings) {
    for section in &quest.document.sections {
        if !LISTS.contains(&section.heading.text.as_str()) {
            continue;
        }
        let name = &section.heading.text;
        if section.entries.is_empty() {
            let message = format!("`{name}` lists nothing: delete the heading");
            findings.add(&quest.path, section.heading.line, message);
        } else if let Some(line) = section.prose {
            findings.add(
                &quest.path,
                line,
                format!("`{name}` is a list and nothing else"),
            );
        }
    }
}

/// A blocker is the link its entry opens with, or an outside condition in plain text; never a link in mid-sentence.
fn blockers(quest: &Quest, findings: &mut Findings) {
    for entry in required(quest) {
        for link in &entry.inner {
            if link.target.starts_with("/quest/") {
                findings.add(
                    &quest.path,
                    link.line,
                    "a blocker opens its entry: one link a bullet, first",
                );
            }
        }
    }
}

/// Links lead somewhere, and quests are named from the root so that a moved file doesn't break them.
fn links(tree: &Tree, quest: &Quest, findings: &mut Findings) {
    for link in &quest.document.links {
        let target = without_fragment(&link.target);
        if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let Some(absolute) = resolve(quest.folder(), target) else {
            findings.add(
                &quest.path,
                link.line,
                format!("link {target} leads out of the repository"),
            );
            continue;
        };
        if !tree.root.join(absolute.trim_start_matches('/')).exists() {
            findings.add(
                &quest.path,
                link.line,
                format!("link {target} leads nowhere"),
            );
        } else if !target.starts_with('/') && absolute.starts_with("/quest/") {
            findings.add(
                &quest.path,
                link.line,
                format!("link {target} to a quest: write {absolute}"),
            );
        }
    }
}

/// A target as a root-absolute path, or `None` if it climbs above the root.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let from = if target.starts_with('/') { "" } else { folder };
    let mut names: Vec<&str> = Vec::new();
    for name in from.split('/').chain(target.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(format!("/{}", names.join("/")))
}

/// Every file is listed once, by the README above it; a README lists nothing else.
fn index(tree: &Tree, findings: &mut Findings) {
    let mut listed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in tree
        .quests
        .values()
        .filter(|quest| quest.kind != Kind::Quest)
    {
        let children = listed.entry(line.folder()).or_default();
        for entry in children_listed(line) {
            let Some(child) = entry
                .opening
                .as_ref()
                .and_then(|link| tree.target(&link.target))
            else {
                findings.add(
                    &line.path,
                    entry.line,
                    "an index entry opens with the link to a child",
                );
                continue;
            };
            if child.parent() != Some(line.folder()) {
                let message = format!("{} is no child of this folder", child.path);
                findings.add(&line.path, entry.line, message);
            } else if !children.insert(&child.path) {
                findings.add(
                    &line.path,
                    entry.line,
                    format!("{} is listed twice", child.path),
                );
            }
        }
    }
    for quest in tree.quests.values() {
        let Some(parent) = quest.parent() else {
            continue;
        };
        if listed
            .get(parent)
            .is_some_and(|children| !children.contains(quest.path.as_str()))
        {
            findings.add(
                &quest.path,
                1,
                format!("{parent}/README.md doesn't list this file"),
            );
        }
    }
}

/// The index entries of a README: under `Milestones` at the root, under `Required` elsewhere.
pub(crate) fn children_listed(line: &Quest) -> &[Entry] {
    let name = if line.kind == Kind::Root {
        "Milestones"
    } else {
        "Required"
    };
    line.document
        .section(name)
        .map_or(&[], |section| &section.entries)
}

/// What must be done before this, as written.
pub(crate) fn required(quest: &Quest) -> &[Entry] {
    quest
        .document
        .section("Required")
        .map_or(&[], |section| &section.entries)
}

/// Nothing waits for itself. A questline waits for its children.
fn cycles(tree: &Tree, findings: &mut Findings) {
    let mut done = BTreeSet::new();
    for start in tree.quests.keys() {
        let mut trail = Vec::new();
        walk(tree, start, &mut trail, &mut done, findings);
    }
}

fn walk<'t>(
    tree: &'t Tree,
    path: &'t str,
    trail: &mut Vec<&'t str>,
    done: &mut BTreeSet<&'t str>,
    findings: &mut Findings,
) {
    if let Some(at) = trail.iter().position(|seen| *seen == path) {
        let circle = [&trail[at..], &[path]].concat().join(" → ");
        findings.add(path, 1, format!("waits for itself: {circle}"));
        return;
    }
    if !done.insert(path) {
        return;
    }
    trail.push(path);
    let Some(quest) = tree.quests.get(path) else {
        return;
    };
    for entry in required(quest) {
        if let Some(next) = entry
            .opening
            .as_ref()
            .and_then(|link| tree.target(&link.target))
        {
            walk(tree, &next.path, trail, done, findings);
        }
    }
    trail.pop();
}
