//! What the log of the server's writes says of each Deployment.

use super::requests::Requests;
use crate::real_server::audit::{Tally, Write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// What became of one Deployment.
#[derive(Debug, Default)]
struct History {
    /// The writes that were made, with the versions that they made: of the controller, and of the other client.
    made: BTreeMap<u64, Vec<bool>>,
    creations: usize,
    drifts: usize,
    repairs: usize,
    /// Repairs that were refused, because there is a newer version.
    conflicts: usize,
    /// Creations that were refused, because there is an object of that name.
    refused_creations: usize,
    /// Begun by the server, which was killed before it could log an answer. It may have made them.
    in_doubt: usize,
    /// Begun by the server for the controller, which has no answer.
    swallowed: usize,
    /// How many times the controller has waited in vain for its watch to show a write.
    late: usize,
    /// How many times it could not read the object that has the name.
    not_read: usize,
    generation: usize,
}

impl History {
    fn note(&mut self, write: &Write, has_answer: bool) {
        let is_ours = write.is_ours();
        self.swallowed += usize::from(is_ours && !has_answer);
        self.in_doubt += usize::from(write.code.is_none());
        let refused = if write.verb == "create" { &mut self.refused_creations } else { &mut self.conflicts };
        *refused += usize::from(is_ours && write.code == Some(409));
        if write.is_made() {
            let version = write.response["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
            self.made.entry(version).or_default().push(is_ours);
            match (is_ours, &*write.verb) {
                (true, "create") => self.creations += 1,
                (true, _) => self.repairs += 1,
                (false, _) => self.drifts += 1,
            }
        }
    }

    /// The writes that have changed nothing.
    fn idle(&self) -> usize {
        self.made.values().map(|writes| writes.len() - 1).sum()
    }

    /// The writes of the controller that follow one of its own.
    fn repeated(&self) -> usize {
        let made: Vec<bool> = self.made.values().flatten().copied().collect();
        made.windows(2).filter(|pair| pair[0] && pair[1]).count()
    }
}

/// What became of all of them.
pub(crate) struct Figures {
    ours: Tally,
    histories: BTreeMap<String, History>,
}

impl Figures {
    pub(crate) fn count(writes: &[Write], deployments: &[Value], requests: &Requests, reports: &[String]) -> Self {
        let mut histories = BTreeMap::<String, History>::new();
        for write in writes.iter().filter(|write| write.resource == "deployments") {
            let request = write.number.map(|number| requests.get(number));
            let name = request.as_ref().map_or(&write.name, |request| &request.name);
            let has_answer = request.as_ref().is_none_or(|request| request.answer.is_some());
            histories.entry(name.clone()).or_default().note(write, has_answer);
        }
        for deployment in deployments {
            let metadata = &deployment["metadata"];
            let generation = metadata["generation"].as_u64().unwrap().try_into().unwrap();
            histories.get_mut(metadata["name"].as_str().unwrap()).unwrap().generation = generation;
        }
        let mut reported = |text: &str, count: fn(&mut History) -> &mut usize| {
            for report in reports.iter().filter(|report| report.contains(text)) {
                let key = report.split(": ").nth(1).unwrap();
                let name = key.split_once('/').unwrap().1;
                *count(histories.get_mut(name).unwrap()) += 1;
            }
        };
        reported("the watch has not shown the write", |history| &mut history.late);
        reported("ExistingNotRead", |history| &mut history.not_read);
        Self { ours: writes.iter().filter(|write| write.is_ours()).collect(), histories }
    }

    /// How many Deployments there are.
    pub(crate) fn len(&self) -> usize {
        self.histories.len()
    }

    /// No drift was repaired twice, except where a kill swallowed an answer, and no conflict led to the next. A creation was
    /// refused only after one whose answer was swallowed, or that the watch had not shown, and then the object was read.
    pub(crate) fn check(&self) {
        for (name, history) in &self.histories {
            let History { creations, drifts, repairs, in_doubt, swallowed, late, not_read, .. } = history;
            // The log has every write: each was of a generation of its own, but for those that changed nothing.
            let logged = creations + drifts + repairs;
            let generation = history.generation + history.idle();
            assert!((logged..=logged + in_doubt).contains(&generation), "{name}: {history:?}");
            assert!(*creations <= 1 && creations + swallowed >= 1, "{name}: {history:?}");
            assert!(history.repeated() <= swallowed + in_doubt, "{name} was repaired twice: {history:?}");
            assert!(history.conflicts <= drifts + swallowed + late, "{name}: {history:?}");
            let refused = swallowed + in_doubt + late + not_read;
            assert!(history.refused_creations <= refused, "{name} was created again: {history:?}");
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: fn(&History) -> usize| self.histories.values().map(of).sum::<usize>();
        writeln!(f, "{} drifts, {} repairs", sum(|it| it.drifts), sum(|it| it.repairs))?;
        writeln!(f, "{:7}  writes that followed one of the controller's own", sum(History::repeated))?;
        writeln!(f, "{:7}  writes that changed nothing", sum(History::idle))?;
        writeln!(f, "{:7}  writes of the controller without an answer", sum(|it| it.swallowed))?;
        writeln!(f, "{:7}  writes of anybody that may have been made or not", sum(|it| it.in_doubt))?;
        writeln!(f, "{:7}  creations that were refused, because there is the object", sum(|it| it.refused_creations))?;
        writeln!(f, "{:7}  waits for a watch that was too late", sum(|it| it.late))?;
        write!(f, "{}", self.ours)
    }
}
