use super::snapshot::stream_line;
use crate::metrics::Metrics;
use core::fmt::Write as _;
use listwatch_core::text::Printable;
use std::error::Error;
use std::sync::Arc;

/// A condition of the program's.
pub(super) type Check = Box<dyn Fn() -> Result<(), Box<dyn Error>> + Send + Sync>;

/// How many obstacles an answer names.
const NAMED: usize = 100;

/// What `/readyz` depends on.
pub(super) struct Readiness {
    metrics: Metrics,
    checks: Vec<(Arc<str>, Check)>,
}

impl Readiness {
    pub(super) fn new(metrics: Metrics, checks: Vec<(Arc<str>, Check)>) -> Self {
        Self { metrics, checks }
    }

    /// A line for each thing that is not ready.
    pub(super) fn obstacles(&self) -> Vec<String> {
        let mut obstacles: Vec<_> =
            self.metrics.streams().iter().filter(|it| !it.status.is_synced()).map(stream_line).collect();
        match self.metrics.awaited() {
            0 => {}
            1 => obstacles.push("a controller has not begun".to_owned()),
            many => obstacles.push(format!("{many} controllers have not begun")),
        }
        obstacles.extend(self.checks.iter().filter_map(|(name, check)| {
            let error = check().err()?;
            Some(format!("{}: {}", Printable::new(name), Printable::new(error)))
        }));
        obstacles
    }

    /// Whether the answer is yes, and its text.
    pub(super) fn answer(&self) -> (bool, String) {
        let obstacles = self.obstacles();
        if obstacles.is_empty() {
            return (true, "ready\n".to_owned());
        }
        let mut text = String::from("not ready\n");
        obstacles.iter().take(NAMED).for_each(|line| _ = writeln!(text, "{line}"));
        if obstacles.len() > NAMED {
            _ = writeln!(text, "and {} more", obstacles.len() - NAMED);
        }
        (false, text)
    }
}
