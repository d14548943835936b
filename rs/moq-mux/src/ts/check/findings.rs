//! Collects errors by rule and PID, with the times of the first few.

use std::collections::BTreeMap;

use super::report::{Finding, Rule};

/// How many times of each kind are kept.
const TIMES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Findings(BTreeMap<(Rule, Option<u16>), Entry>);

#[derive(Debug, Default)]
struct Entry {
    count: u64,
    times: Vec<f64>,
    detail: String,
}

impl Findings {
    /// Notes an error; `detail` is asked for the first of its kind only.
    pub(super) fn add(
        &mut self,
        rule: Rule,
        pid: Option<u16>,
        time: Option<f64>,
        detail: impl FnOnce() -> String,
    ) {
        let entry = self.0.entry((rule, pid)).or_default();
        if entry.count == 0 {
            entry.detail = detail();
        }
        entry.count += 1;
        if let Some(time) = time
            && entry.times.len() < TIMES
        {
            // Thousandths of a millisecond tell packets apart at any rate.
            entry.times.push((time * 1e6).round() / 1e6);
        }
    }

    /// Everything, most important first.
    pub(super) fn list(&self) -> Vec<Finding> {
        let finding = |(&(rule, pid), entry): (&(Rule, Option<u16>), &Entry)| Finding {
            rule,
            id: rule.id(),
            pid,
            count: entry.count,
            times: entry.times.clone(),
            detail: entry.detail.clone(),
        };
        self.0.iter().map(finding).collect()
    }
}
