//! The count of each fault, failure and reaction that occurred.

use super::fault::Fault;
use listwatch_core::reflector::{FailureClass, FailureReport, Operation, Reaction};
use std::collections::BTreeMap;
use std::fmt;

/// Counts of a run, or of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// How many of each fault were delivered.
    pub faults: [u64; Fault::ALL.len()],
    /// Failures as the informer told them: by what was being done, and by class.
    failures: BTreeMap<(u8, u8), u64>,
    /// What it did about them.
    reactions: BTreeMap<u8, u64>,
    /// Runs.
    pub runs: u64,
    /// Requests sent.
    pub requests: u64,
    /// Heads, pieces of data, ends and timeouts that an informer handled.
    pub inputs: u64,
    /// Events that an informer told: notifications, failures, objects that could not be decoded.
    pub told: u64,
    /// Virtual seconds.
    pub seconds: u64,
    /// The caches had a fixed capacity.
    pub is_bounded: bool,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            faults: [0; Fault::ALL.len()],
            failures: BTreeMap::new(),
            reactions: BTreeMap::new(),
            runs: 0,
            requests: 0,
            inputs: 0,
            told: 0,
            seconds: 0,
            is_bounded: false,
        }
    }
}

impl Tally {
    /// A fault was delivered.
    pub fn fault(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }

    /// How many faults were delivered. What comes many at a time is not counted among them: a replica that lags, and
    /// objects that cannot be decoded.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        let crowds = [Fault::StaleReplica, Fault::Undecodable, Fault::Unreadable];
        self.faults.iter().sum::<u64>() - crowds.iter().map(|fault| self.faults[*fault as usize]).sum::<u64>()
    }

    /// Inputs and events: what an informer took in and gave out.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.inputs + self.told
    }

    /// A failure was told.
    pub fn failure(&mut self, report: &FailureReport) {
        *self.failures.entry((report.operation as u8, report.failure.class() as u8)).or_default() += 1;
        *self.reactions.entry(report.reaction as u8).or_default() += 1;
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        self.faults.iter_mut().zip(other.faults).for_each(|(sum, count)| *sum += count);
        other.failures.iter().for_each(|(name, count)| *self.failures.entry(*name).or_default() += count);
        other.reactions.iter().for_each(|(name, count)| *self.reactions.entry(*name).or_default() += count);
        self.runs += other.runs;
        self.requests += other.requests;
        self.inputs += other.inputs;
        self.told += other.told;
        self.seconds += other.seconds;
        self.is_bounded |= other.is_bounded;
    }

    /// How many failures of a class there were, whatever was being done.
    #[must_use]
    pub fn of_class(&self, class: FailureClass) -> u64 {
        self.failures.iter().filter(|((_, of), _)| *of == class as u8).map(|(_, count)| count).sum()
    }

    /// How many times something failed.
    fn of_operation(&self, operation: Operation) -> u64 {
        self.failures.iter().filter(|((of, _), _)| *of == operation as u8).map(|(_, count)| count).sum()
    }

    fn of_reaction(&self, reaction: Reaction) -> u64 {
        self.reactions.get(&(reaction as u8)).copied().unwrap_or_default()
    }

    /// What should have been met and was not.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        self.lines().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
    }

    fn lines(&self) -> impl Iterator<Item = (String, u64)> {
        let faults = Fault::ALL.iter().map(|fault| (format!("{fault:?}"), self.faults[*fault as usize]));
        // A cache that grows has room for everything.
        let classes = FailureClass::ALL.iter().filter(|class| self.is_bounded || **class != FailureClass::DoesNotFit);
        let classes = classes.map(|class| (format!("failure: {class}"), self.of_class(*class)));
        let operations =
            OPERATIONS.iter().map(|operation| (format!("failed: {operation}"), self.of_operation(*operation)));
        let reactions = REACTIONS.iter().map(|reaction| (format!("followed: {reaction}"), self.of_reaction(*reaction)));
        faults.chain(classes).chain(operations).chain(reactions)
    }
}

/// Every reaction, and everything that can be interrupted.
const REACTIONS: [Reaction; 6] = [
    Reaction::Relist,
    Reaction::RelistByList,
    Reaction::RelistUnpaged,
    Reaction::ListInstead,
    Reaction::Rewatch,
    Reaction::Resume,
];
const OPERATIONS: [Operation; 5] =
    [Operation::List, Operation::Page, Operation::WatchList, Operation::Watch, Operation::Resume];

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, requests, inputs, told, seconds, .. } = self;
        writeln!(f, "{runs} runs, {} virtual hours, {} faults, {requests} requests", seconds / 3600, self.delivered())?;
        writeln!(f, "{} events: {inputs} inputs, {told} told", self.events())?;
        for (name, count) in self.lines() {
            writeln!(f, "  {name:<36} {count:>10}")?;
        }
        Ok(())
    }
}
