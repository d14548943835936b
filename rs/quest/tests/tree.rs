//! One broken tree a rule, and the answers of `ready`.

use std::{fs, path::Path};

use quest::{Error, Status, Tree, check, ready, status};
use tempfile::TempDir;

const GOOD: &str = "# [S] Title\n\n## Goal\n\nSeen to be true.\n";

/// A sound tree of one milestone with one quest, with `changes` laid over it; an empty text deletes the file.
fn tree(changes: &[(&str, &str)]) -> (TempDir, Tree) {
    let root = TempDir::new().unwrap();
    let sound = [
        (
            "quest/README.md",
            "# Quests\n\n## Milestones\n\n- [m0](/quest/m0/README.md): now\n",
        ),
        (
            "quest/m0/README.md",
            "# Now\n\n## Goal\n\nIt works.\n\n## Required\n\n- [one](/quest/m0/one.md)\n",
        ),
        ("quest/m0/one.md", GOOD),
        ("src/code.rs", "// code\n"),
    ];
    for (path, text) in sound.iter().chain(changes) {
        let place = root.path().join(path);
        if text.is_empty() {
            fs::remove_file(place).unwrap();
            continue;
        }
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    let tree = Tree::load(root.path()).unwrap();
    (root, tree)
}

/// The changed tree has exactly these findings.
fn assert_findings(changes: &[(&str, &str)], expected: &[&str]) {
    let (_root, tree) = tree(changes);
    let found: Vec<_> = check(&tree).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

/// `one.md` with this text has exactly these findings.
fn assert_one(text: &str, expected: &[&str]) {
    assert_findings(&[("quest/m0/one.md", text)], expected);
}

#[test]
fn a_sound_tree_has_no_findings() {
    assert_findings(&[], &[]);
}

#[test]
fn every_heading_and_every_kind_of_link_may_be_used() {
    assert_one(
        "# [XL] Title\n\n## Goal\n\nSee [the code](../../src/code.rs), [a page](https://example.org/a#b).\n\n\
         ## Plan\n\n### Deeper\n\n```text\n# [not] a title\n## Nor a heading\n```\n\n\
         ## Required\n\n- A release of the peer.\n\n## Closes\n\n- #3\n\n## Related\n\n- [code][c]\n\n[c]: /src/code.rs\n",
        &[],
    );
}

#[test]
fn a_title_is_needed() {
    assert_one(
        "## Goal\n\nText.\n",
        &["quest/m0/one.md:1: no title: the first line is `# [S] Title`"],
    );
}

#[test]
fn one_title_only() {
    assert_one(
        &format!("{GOOD}\n# [S] Another\n"),
        &["quest/m0/one.md:7: a second title: one file is one plan"],
    );
}

#[test]
fn a_quest_has_a_size() {
    let text = "# Title\n\n## Goal\n\nText.\n";
    assert_one(
        text,
        &["quest/m0/one.md:1: no size: write `# [XS|S|M|L|XL] Title`"],
    );
}

#[test]
fn the_size_is_one_of_five() {
    let text = "# [XXL] Title\n\n## Goal\n\nText.\n";
    assert_one(
        text,
        &["quest/m0/one.md:1: size [XXL] is none of XS S M L XL"],
    );
}

#[test]
fn a_questline_has_no_size() {
    assert_findings(
        &[(
            "quest/m0/README.md",
            "# [S] Now\n\n## Goal\n\nIt works.\n\n## Required\n\n- [one](/quest/m0/one.md)\n",
        )],
        &["quest/m0/README.md:1: a questline has no size: its children have"],
    );
}

#[test]
fn a_goal_is_needed() {
    let text = "# [S] Title\n\n## Plan\n\nText.\n";
    assert_one(
        text,
        &["quest/m0/one.md:1: no `## Goal`: say what will be seen to be true"],
    );
}

#[test]
fn the_goal_is_not_empty() {
    let text = "# [S] Title\n\n## Goal\n\n## Plan\n\nText.\n";
    assert_one(text, &["quest/m0/one.md:3: the goal is empty"]);
}

#[test]
fn headings_are_a_closed_set() {
    assert_one(
        &format!("{GOOD}\n## Notes\n\nText.\n"),
        &["quest/m0/one.md:7: heading `Notes` is none of Goal, Plan, Required, Closes, Related"],
    );
}

#[test]
fn headings_come_once_and_in_order() {
    assert_one(
        "# [S] Title\n\n## Plan\n\nText.\n\n## Goal\n\nText.\n",
        &[
            "quest/m0/one.md:7: heading `Goal` again or out of order: Goal, Plan, Required, Closes, Related",
        ],
    );
}

#[test]
fn a_list_section_lists_something() {
    assert_one(
        &format!("{GOOD}\n## Closes\n"),
        &["quest/m0/one.md:7: `Closes` lists nothing: delete the heading"],
    );
}

#[test]
fn a_list_section_is_a_list_only() {
    assert_one(
        &format!("{GOOD}\n## Related\n\n- #4\n\nAnd a sentence.\n"),
        &["quest/m0/one.md:11: `Related` is a list and nothing else"],
    );
}

#[test]
fn a_blocker_opens_its_entry() {
    assert_findings(
        &[
            (
                "quest/m0/one.md",
                &format!("{GOOD}\n## Required\n\n- Wait for\n  [two](/quest/m0/two.md).\n"),
            ),
            ("quest/m0/two.md", GOOD),
            (
                "quest/m0/README.md",
                "# Now\n\n## Goal\n\nAll.\n\n## Required\n\n- [one](/quest/m0/one.md)\n- [two](/quest/m0/two.md)\n",
            ),
        ],
        &["quest/m0/one.md:10: a blocker opens its entry: one link a bullet, first"],
    );
}

#[test]
fn links_lead_somewhere() {
    assert_one(
        &format!("{GOOD}\nSee [gone](/src/gone.rs).\n"),
        &["quest/m0/one.md:7: link /src/gone.rs leads nowhere"],
    );
}

#[test]
fn links_stay_inside_the_repository() {
    assert_one(
        &format!("{GOOD}\nSee [out](../../../secret.md).\n"),
        &["quest/m0/one.md:7: link ../../../secret.md leads out of the repository"],
    );
}

#[test]
fn quests_are_named_from_the_root() {
    assert_one(
        &format!("{GOOD}\nSee [now](README.md).\n"),
        &["quest/m0/one.md:7: link README.md to a quest: write /quest/m0/README.md"],
    );
}

#[test]
fn a_folder_has_a_readme() {
    assert_findings(
        &[("quest/m0/line/two.md", GOOD)],
        &["quest/m0/line/README.md:1: missing: a folder is a questline and needs its README"],
    );
}

#[test]
fn every_quest_is_listed() {
    assert_findings(
        &[("quest/m0/two.md", GOOD)],
        &["quest/m0/two.md:1: /quest/m0/README.md doesn't list this file"],
    );
}

#[test]
fn every_quest_is_listed_once() {
    assert_findings(
        &[(
            "quest/m0/README.md",
            "# Now\n\n## Goal\n\nAll.\n\n## Required\n\n- [one](/quest/m0/one.md)\n- [one](/quest/m0/one.md)\n",
        )],
        &["quest/m0/README.md:10: /quest/m0/one.md is listed twice"],
    );
}

#[test]
fn an_index_lists_only_its_children() {
    assert_findings(
        &[(
            "quest/README.md",
            "# Quests\n\n## Milestones\n\n- [m0](/quest/m0/README.md)\n- [one](/quest/m0/one.md)\n",
        )],
        &["quest/README.md:6: /quest/m0/one.md is no child of this folder"],
    );
}

#[test]
fn an_index_entry_opens_with_its_child() {
    assert_findings(
        &[(
            "quest/README.md",
            "# Quests\n\n## Milestones\n\n- [m0](/quest/m0/README.md)\n- later\n",
        )],
        &["quest/README.md:6: an index entry opens with the link to a child"],
    );
}

#[test]
fn a_quest_belongs_in_a_milestone() {
    assert_findings(
        &[
            (
                "quest/README.md",
                "# Quests\n\n## Milestones\n\n- [m0](/quest/m0/README.md)\n- [x](/quest/x.md)\n- [mine](/quest/mine)\n",
            ),
            ("quest/x.md", GOOD),
            ("quest/mine/README.md", "# Mine\n\n## Goal\n\nAll.\n"),
        ],
        &[
            "quest/mine/README.md:1: `mine` is no milestone: m0, m1, … or future",
            "quest/x.md:1: a quest belongs in a milestone: move it to m0, m1, … or future",
        ],
    );
}

#[test]
fn nothing_waits_for_itself() {
    assert_one(
        &format!("{GOOD}\n## Required\n\n- [all of m0](/quest/m0/README.md)\n"),
        &[
            "quest/m0/README.md:1: waits for itself: /quest/m0/README.md → /quest/m0/one.md → /quest/m0/README.md",
        ],
    );
}

#[test]
fn a_missing_tree_is_said_so() {
    let root = TempDir::new().unwrap();
    assert!(matches!(Tree::load(root.path()), Err(Error::NoTree(_))));
}

#[test]
fn ready_lists_what_waits_for_nothing_in_order_of_rank() {
    let (_root, tree) = tree(&[
        (
            "quest/m0/README.md",
            "# Now\n\n## Goal\n\nAll.\n\n## Required\n\n- [z](/quest/m0/z.md)\n- [one](/quest/m0/one.md)\n- [line](/quest/m0/line)\n",
        ),
        ("quest/m0/z.md", GOOD),
        (
            "quest/m0/one.md",
            &format!("{GOOD}\n## Required\n\n- [z](/quest/m0/z.md): first\n- Spring.\n"),
        ),
        (
            "quest/m0/line/README.md",
            "# Line\n\n## Goal\n\nAll.\n\n## Required\n\n- [a](/quest/m0/line/a.md)\n",
        ),
        ("quest/m0/line/a.md", GOOD),
    ]);
    let paths = |path| -> Vec<_> {
        ready(&tree, path)
            .unwrap()
            .iter()
            .map(|quest| quest.path.as_str())
            .collect()
    };
    assert_eq!(paths("quest"), ["/quest/m0/z.md", "/quest/m0/line/a.md"]);
    assert_eq!(paths("/quest/m0/line/"), ["/quest/m0/line/a.md"]);
    assert_eq!(paths("quest/m0/one.md"), [""; 0]);
    assert_eq!(
        status(&tree.quests["/quest/m0/one.md"]),
        Status::Blocked(vec![
            "/quest/m0/z.md".into(),
            "/quest/m0/one.md:10: an outside condition".into()
        ])
    );
    assert!(matches!(ready(&tree, "quest/m9"), Err(Error::Unknown(_))));
}

#[test]
fn the_plans_of_this_repository_are_sound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let findings = check(&Tree::load(&root).unwrap());
    assert!(findings.is_empty(), "{findings:#?}");
}
