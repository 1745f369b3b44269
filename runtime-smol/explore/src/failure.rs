//! What an exploration found, as a story and as a plan.

use crate::fault::Fault;
use crate::plan::Plan;
use crate::story::Story;
use core::error::Error;
use core::fmt;

/// A fault of the program, with the smallest plan that shows it. Its `Debug` is its `Display`, so a test prints it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What is wrong.
    pub fault: Fault,
    /// How the run showed it that found it, if that differs: with more differences, or with other numbers in a message.
    pub before: Option<Fault>,
    /// The plan, for [`Exploration::replay`](crate::Exploration::replay). Without disturbances, the program is wrong
    /// undisturbed.
    pub plan: Plan,
    /// What goes wrong (`*`), what the scenario changes (`>`), and what the program writes, in the order of time.
    pub story: Vec<String>,
    /// The number of steps of the scenario that show it, and of all, if they are fewer. The story is that of this part.
    pub steps: Option<(u32, u32)>,
    /// The number of the run that found it; 0 for an undisturbed one, and for one of a plan of yours.
    pub run: usize,
    /// The seed of the exploration.
    pub seed: u64,
}

impl Failure {
    pub(crate) fn of(fault: Fault, plan: Plan, story: &Story, seed: u64) -> Box<Self> {
        Box::new(Self { fault, before: None, plan, story: story.told(), steps: None, run: 0, seed })
    }
}

/// So many of the last lines of a story are printed.
const LINES: usize = 24;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault)?;
        if matches!(self.fault, Fault::Setup(_)) {
            return Ok(());
        }
        writeln!(f)?;
        if let Some(before) = &self.before {
            writeln!(f, "The run that found it, before its plan was made smaller, showed: {before}")?;
        }
        if self.plan.disturbances.is_empty() {
            writeln!(f, "It is so without any disturbance.")?;
        }
        for disturbance in &self.plan.disturbances {
            writeln!(f, "- {}", disturbance.trouble.told(&disturbance.place))?;
        }
        match self.steps {
            Some((0, of)) => writeln!(f, "None of the {of} steps of the scenario is needed.")?,
            Some((steps, of)) => writeln!(f, "The scenario up to its step {steps} of {of} is enough.")?,
            None => {}
        }
        let skipped = self.story.len().saturating_sub(LINES);
        let early = self.story[..skipped].iter().filter(|line| !line.starts_with(' '));
        writeln!(f, "The run, in simulated time{}:", if skipped > 0 { " (its last lines)" } else { "" })?;
        early.chain(&self.story[skipped..]).try_for_each(|line| writeln!(f, "  {line}"))?;
        if self.run > 0 {
            write!(f, "Found in run {} of seed {} (LISTWATCH_SEED={}). ", self.run, self.seed, self.seed)?;
        }
        writeln!(f, "This shows it again:")?;
        write!(f, "    exploration.replay(&Plan::parse({:?})?)?;", self.plan.to_string())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for Failure {}
