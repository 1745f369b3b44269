//! One run of an exec plugin, which several callers may wait for.

use crate::cancel::CancelToken;
use crate::clock;
use crate::lock::Lock;
use std::io::{self, Read};
use std::process::{Child, ChildStdout, Command, ExitStatus};
use std::sync::{Arc, Condvar, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The most output in bytes. An `ExecCredential` is far smaller.
const MAX_OUTPUT: u64 = 1 << 20;

/// How often a caller checks for the end of a plugin that has closed its output and is about to end.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A plugin that runs until it has printed its credential, and no longer than a caller waits.
pub(super) struct Run {
    limit: Duration,
    deadline: Instant,
    state: Lock<Progress>,
    /// Notified on output, on an outcome, and when a caller was cancelled.
    changed: Condvar,
}

/// The output, or the fault.
pub(super) type Outcome = Result<Arc<[u8]>, String>;

/// How far a run has come.
struct Progress {
    running: PluginProcess,
    callers: Vec<CancelToken>,
    output: Option<Arc<[u8]>>,
    outcome: Option<Outcome>,
}

impl Run {
    /// Starts a plugin for one caller. Others may join.
    pub(super) fn start(
        command: &mut Command,
        asks: bool,
        limit: Duration,
        caller: &CancelToken,
    ) -> io::Result<Arc<Self>> {
        let mut running = PluginProcess::start(command, asks)?;
        let stdout = running.stdout();
        let run = Arc::new(Self {
            limit,
            deadline: clock::steady() + limit,
            state: Lock::new(Progress { running, callers: vec![caller.clone()], output: None, outcome: None }),
            changed: Condvar::new(),
        });
        collect(stdout, Arc::downgrade(&run))?;
        Ok(run)
    }

    /// Adds a caller; `false` if the run has failed.
    pub(super) fn join(&self, caller: &CancelToken) -> bool {
        let mut state = self.state.lock();
        state.callers.push(caller.clone());
        !matches!(state.outcome, Some(Err(_)))
    }

    /// Blocks until the outcome; `None` if the caller is cancelled before.
    pub(super) fn wait(&self, caller: &CancelToken) -> Option<Outcome> {
        let mut state = self.state.lock();
        loop {
            self.advance(&mut state);
            if state.outcome.is_some() || caller.is_cancelled() {
                return state.outcome.clone();
            }
            let left = self.deadline.saturating_duration_since(clock::steady());
            let pause = if state.output.is_some() { left.min(POLL_INTERVAL) } else { left };
            state = self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Handles the cancellation of a caller. If no other waits, the plugin is killed.
    pub(super) fn on_cancelled(&self) {
        let mut state = self.state.lock();
        self.advance(&mut state);
        self.changed.notify_all();
    }

    /// Checks for the outcome. Any caller may do so.
    fn advance(&self, state: &mut Progress) {
        if state.outcome.is_none() {
            state.outcome = state.outcome(self.deadline, self.limit);
            if let Some(outcome) = &state.outcome {
                if outcome.is_err() {
                    state.running.kill();
                }
                self.changed.notify_all();
            }
        }
    }

    fn on_output(&self, output: Vec<u8>) {
        self.state.lock().output = Some(output.into());
        self.changed.notify_all();
    }
}

impl Progress {
    /// The outcome; `None` while the plugin runs.
    fn outcome(&mut self, deadline: Instant, limit: Duration) -> Option<Outcome> {
        if self.callers.iter().all(CancelToken::is_cancelled) {
            return Some(Err("was killed, because no request waits for it any more".to_owned()));
        }
        if let Some(output) = &self.output {
            if output.len() as u64 > MAX_OUTPUT {
                return Some(Err(format!("printed more than {MAX_OUTPUT} bytes")));
            }
            match self.running.status() {
                Ok(Some(status)) if status.success() => return Some(Ok(output.clone())),
                Ok(Some(status)) => return Some(Err(format!("failed ({status}): run it by hand"))),
                Ok(None) => {}
                Err(error) => return Some(Err(format!("cannot be waited for: {error}"))),
            }
        }
        let is_late = clock::steady() >= deadline;
        is_late.then(|| Err(format!("took longer than {limit:?}: run it by hand")))
    }
}

/// Reads the output in a thread, because a pipe has no read timeout.
fn collect(stdout: Option<ChildStdout>, run: Weak<Run>) -> io::Result<()> {
    let reader = move || {
        let mut output = Vec::new();
        // If reading fails, the output is incomplete, which the parser reports.
        let _ = stdout.map(|stdout| stdout.take(MAX_OUTPUT + 1).read_to_end(&mut output));
        if let Some(run) = run.upgrade() {
            run.on_output(output);
        }
    };
    thread::Builder::new().name("listwatch-exec".into()).stack_size(64 << 10).spawn(reader).map(drop)
}

/// The process of an exec plugin. If it runs when this is dropped, it is killed with its children.
struct PluginProcess {
    child: Child,
    /// Whether it leads its own process group.
    #[cfg(unix)]
    leads_group: bool,
    has_ended: bool,
}

impl PluginProcess {
    /// Starts a plugin. One that may prompt stays in the group of this program, because another group cannot read the
    /// terminal. Ctrl-C reaches it as it reaches this program.
    fn start(command: &mut Command, asks: bool) -> io::Result<Self> {
        // Its own group: otherwise the children of a shell outlive it.
        #[cfg(unix)]
        if !asks {
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        #[cfg(not(unix))]
        let _there_are_no_groups = asks;
        Ok(Self {
            child: command.spawn()?,
            #[cfg(unix)]
            leads_group: !asks,
            has_ended: false,
        })
    }

    fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The exit status; `None` while it runs.
    fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.has_ended |= status.is_some();
        Ok(status)
    }

    /// Kills it, without waiting for its end.
    fn kill(&mut self) {
        // After a wait, the system may give its number to another process.
        if self.has_ended {
            return;
        }
        // A process that cannot be killed has ended.
        #[cfg(unix)]
        if self.leads_group {
            let _ = rustix::process::kill_process_group(
                rustix::process::Pid::from_child(&self.child),
                rustix::process::Signal::KILL,
            );
        }
        let _ = self.child.kill();
    }
}

impl Drop for PluginProcess {
    fn drop(&mut self) {
        self.kill();
        // Without a wait, it would stay a zombie.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn run(script: &str, caller: &CancelToken) -> Arc<Run> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        Run::start(&mut command, false, LONG, caller).unwrap()
    }

    #[test]
    fn a_program_runs_on_until_the_last_caller_is_cancelled() {
        let (first, second) = (CancelToken::default(), CancelToken::default());
        let run = run("exec sleep 600", &first);
        assert!(run.join(&second));
        first.cancel();
        run.on_cancelled();
        assert_eq!(run.wait(&first), None);
        assert_eq!(run.state.lock().running.status().unwrap(), None, "the second caller waits for it");
        second.cancel();
        run.on_cancelled();
        assert!(matches!(run.wait(&second), Some(Err(_))));
        assert!(!run.join(&CancelToken::default()), "no caller joins a run that was killed");
        // It would last longer than any test may.
        while run.state.lock().running.status().unwrap().is_none() {
            thread::yield_now();
        }
    }

    #[test]
    fn every_caller_gets_the_output() {
        let (first, second) = (CancelToken::default(), CancelToken::default());
        let run = run("sleep 0.1; printf hello", &first);
        assert!(run.join(&second));
        thread::scope(|scope| {
            for caller in [&first, &second] {
                scope.spawn(|| assert_eq!(run.wait(caller).unwrap().unwrap()[..], b"hello"[..]));
            }
        });
    }
}
