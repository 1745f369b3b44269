//! The table of all rows: the same, or different for a reason.

use crate::kubeconfigs::programs::Compared;
use crate::kubeconfigs::reasons::REASONS;
use crate::kubeconfigs::rows::{Dimension, Row};
use crate::kubeconfigs::seen::Outcome;
use listwatch_tests::skipped::tell;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Table {
    rows: usize,
    /// Rows by the choice, and whether they differ.
    counts: BTreeMap<&'static str, [usize; 2]>,
    /// Rows by the outcomes of kubectl and the command.
    outcomes: BTreeMap<(Outcome, Outcome), usize>,
    /// Differences by the reason.
    reasons: BTreeMap<usize, usize>,
    /// Differences without a reason, or with two.
    faults: Vec<String>,
}

impl Table {
    pub(super) fn add(&mut self, row: &Row, compared: &Compared) {
        let Compared { kubectl, ours, said } = compared;
        let differences = kubectl.differences(ours);
        let outcomes = (kubectl.outcome, ours.outcome);
        self.rows += 1;
        *self.outcomes.entry(outcomes).or_default() += 1;
        for choice in &row.choices {
            self.counts.entry(choice.name).or_default()[usize::from(!differences.is_empty())] += 1;
        }
        for (part, of_kubectl, of_ours) in differences {
            let explaining = REASONS.iter().enumerate().filter(|(_, reason)| reason.explains(row, part, outcomes));
            let explaining: Vec<usize> = explaining.map(|(index, _)| index).collect();
            match *explaining {
                [reason] => *self.reasons.entry(reason).or_default() += 1,
                _ => self.faults.push(format!(
                    "{row}: {part:?} has {} reasons: kubectl {of_kubectl:?}, listwatch {of_ours:?}\n    kubectl: {}\n    {}",
                    explaining.len(),
                    said[0].lines().last().unwrap_or_default(),
                    said[1].trim_end(),
                )),
            }
        }
    }

    /// Prints the table. Fails where a difference has no reason, and where a reason explains none.
    pub(super) fn check(mut self, dimensions: &[Dimension]) {
        self.print(dimensions);
        for (index, reason) in REASONS.iter().enumerate().filter(|(index, _)| !self.reasons.contains_key(index)) {
            self.faults.push(format!("reason {index} explains nothing: {}", reason.why));
        }
        self.faults.sort_unstable();
        assert!(self.faults.is_empty(), "{} faults:\n{}", self.faults.len(), self.faults.join("\n"));
    }

    fn print(&self, dimensions: &[Dimension]) {
        for Dimension { name, choices } in dimensions {
            println!("{name:<64} same  differs");
            for choice in *choices {
                let [same, differs] = self.counts.get(choice.name).copied().unwrap_or_default();
                println!("  {:<62} {same:>4} {differs:>8}", choice.name);
            }
        }
        println!("kubectl   listwatch  rows");
        for ((kubectl, ours), rows) in &self.outcomes {
            println!("{:<9} {:<9} {rows:>5}", format!("{kubectl:?}"), format!("{ours:?}"));
        }
        println!("differences by their reasons");
        for (index, count) in &self.reasons {
            println!("{count:>4}  {}", REASONS[*index].why);
        }
        let differs: usize = self.counts.values().map(|[_, differs]| differs).sum::<usize>() / dimensions.len().max(1);
        tell(format_args!("{} kubeconfigs beside kubectl: {differs} differ, {} reasons", self.rows, REASONS.len()));
    }
}
