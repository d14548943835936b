//! `quest check` and `quest ready [PATH]`: the command line over the library.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use quest::{Error, Kind, Status, Tree, check, ready, status};

/// Checks the plans kept under quest/ and lists the ones that are ready.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The repository's root.
    #[arg(long, default_value = ".", global = true)]
    root: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Prints what is wrong as `path:line: message`; fails if anything is.
    Check,
    /// Prints the quests that wait for nothing, in order of rank; for one quest, what it waits for.
    Ready {
        /// A quest, or a questline to look beneath.
        #[arg(default_value = "quest")]
        path: String,
    },
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("quest: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let tree = Tree::load(&arguments.root)?;
    match &arguments.action {
        Action::Check => Ok(report(&tree)),
        Action::Ready { path } => {
            answer(&tree, path)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn report(tree: &Tree) -> ExitCode {
    let findings = check(tree);
    if findings.is_empty() {
        let quests = tree
            .quests
            .values()
            .filter(|quest| quest.kind == Kind::Quest)
            .count();
        println!(
            "quest: {quests} quests in {} files, nothing wrong",
            tree.quests.len()
        );
        return ExitCode::SUCCESS;
    }
    for finding in &findings {
        println!("{finding}");
    }
    ExitCode::FAILURE
}

fn answer(tree: &Tree, path: &str) -> Result<(), Error> {
    for quest in ready(tree, path)? {
        let title = quest
            .document
            .titles
            .first()
            .map_or("", |title| title.text.as_str());
        println!("{}  {title}", quest.path.trim_start_matches('/'));
    }
    let asked = tree.target(&format!("/{}", path.trim_matches('/')));
    if let Some(quest) = asked.filter(|quest| quest.kind == Kind::Quest)
        && let Status::Blocked(blockers) = status(quest)
    {
        for blocker in blockers {
            println!("waits for {}", blocker.trim_start_matches('/'));
        }
    }
    Ok(())
}
