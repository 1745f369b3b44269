use super::PANICKED;
use super::checks::Checks;
use super::recent::Recent;
use super::snapshot::stream_line;
use crate::caught::caught_call;
use crate::clock::Clock;
use crate::metrics::Metrics;
use core::fmt::Write as _;

/// How many obstacles an answer names.
const NAMED: usize = 100;

/// What `/readyz` depends on.
pub(super) struct Readiness {
    metrics: Metrics,
    checks: Checks,
    /// The lines of the streams and the controllers.
    recent: Recent<Vec<String>>,
}

impl Readiness {
    pub(super) fn new(metrics: Metrics, checks: Checks) -> Self {
        Self { metrics, checks, recent: Recent::default() }
    }

    /// A line for each part that is not ready.
    pub(super) async fn obstacles(&self, clock: &Clock) -> Vec<String> {
        let measured = caught_call(|| self.recent.get(clock, || self.measured()));
        let mut obstacles = measured.unwrap_or_else(|_message| vec![PANICKED.to_owned()]);
        obstacles.extend(self.checks.obstacles(clock).await);
        obstacles
    }

    /// Those of the streams and the controllers.
    fn measured(&self) -> Vec<String> {
        let mut obstacles: Vec<_> =
            self.metrics.streams().iter().filter(|it| !it.status.is_synced()).map(stream_line).collect();
        match self.metrics.awaited() {
            0 => {}
            1 => obstacles.push("a controller has not begun".to_owned()),
            many => obstacles.push(format!("{many} controllers have not begun")),
        }
        obstacles
    }
}

/// The text of an answer to a probe.
pub(super) fn probed(healthy: &str, obstacles: &[String]) -> String {
    if obstacles.is_empty() {
        return format!("{healthy}\n");
    }
    let mut text = format!("not {healthy}\n");
    obstacles.iter().take(NAMED).for_each(|line| _ = writeln!(text, "{line}"));
    if obstacles.len() > NAMED {
        _ = writeln!(text, "and {} more", obstacles.len() - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::ControllerHandle;
    use core::time::Duration;

    #[test]
    fn each_request_of_a_probe_read_the_status_of_all_streams() {
        let (metrics, clock) = (Metrics::new(), Clock::simulated());
        let readiness = Readiness::new(metrics.clone(), Checks::default());
        let obstacles = || smol::block_on(readiness.obstacles(&clock));
        assert!(obstacles().is_empty());
        metrics.add_controller(&ControllerHandle::default());
        assert!(obstacles().is_empty(), "those of this second");
        crate::run(&clock, &crate::Executor::new(), clock.sleep(Duration::from_secs(1)));
        assert_eq!(obstacles(), ["a controller has not begun"]);
    }
}
