//! The documented table of reactions is the one that the reflector decides by.

use crate::protocol::document::check;
use listwatch_core::reflector::{BackoffKind, RETRY_POLICY, RetryRule};
use std::fmt::Display;

#[test]
fn the_documented_table_of_reactions_is_the_one_that_decides() {
    let rows: Vec<String> = RETRY_POLICY.iter().map(row).collect();
    let table = format!("| operation | failure | reaction | delay |\n|---|---|---|---|\n{}", rows.concat());
    check("core/src/reflector/retry_policy.md", "reactions", &table);
}

/// A line of the table: operation, failure, reaction, delay.
fn row(rule: &RetryRule) -> String {
    let (operations, classes) = (listed(rule.operations), listed(rule.classes));
    let limit = rule.limit.map(|(times, then)| match times {
        1 => format!("; after once {then}"),
        2 => format!("; after twice {then}"),
        _ => format!("; after {times} times {then}"),
    });
    let limit = limit.unwrap_or_default();
    let most_recent = if rule.most_recent { ", requesting the most recent state" } else { "" };
    let backoff = match rule.backoff {
        BackoffKind::Immediate if rule.limit.is_some() => "none, then exponential",
        BackoffKind::Immediate => "none",
        BackoffKind::Exponential => "exponential",
        BackoffKind::Probe => "probe",
        BackoffKind::Room => "slow; once an object has left the cache exponential",
        other => panic!("{other:?} has no words"),
    };
    format!("| {operations} | {classes} | {}{limit}{most_recent} | {backoff} |\n", rule.reaction)
}

fn listed(items: &[impl Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
