//! Audits of a store in a world where everything goes wrong, and where a proxy may lose events.

mod auditor;
mod proxy;
mod tally;
mod truth;

use super::run::Run;
use auditor::Auditor;
use proxy::Proxy;
pub use tally::AuditTally;

/// A run with audits beside the client.
#[derive(Debug)]
pub struct AuditedRun {
    run: Run,
    auditor: Auditor,
}

/// How many audits a run has.
const AUDITS: u64 = 12;

impl AuditedRun {
    /// The run of `seed`. In some of them, the client is behind a proxy that loses events.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let auditor = Auditor::new(seed);
        let mut run = match auditor.losses() {
            0 => Run::new(seed, false),
            losses => Run::over(Box::new(Proxy::new(seed, losses)), seed, false),
        };
        run.client().observer.is_lossy = auditor.losses() > 0;
        Self { run, auditor }
    }

    /// Runs until there were audits enough, and checks what each of them has found.
    ///
    /// # Panics
    /// Where an audit reports a difference that is not there, or does not report one that is.
    pub fn finish(mut self) -> AuditTally {
        self.run.begin();
        while self.auditor.tally.audits() < AUDITS {
            let due = self.auditor.poll_timeout();
            if due > self.run.next() {
                self.run.go_on();
                continue;
            }
            self.run.world.advance(due);
            self.auditor.turn(&mut self.run.world, &self.run.setup.resource);
        }
        self.run.client().close();
        self.auditor.tally
    }
}
