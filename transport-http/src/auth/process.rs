//! A program that runs, and what it has started.

use std::io;
use std::process::{Child, ChildStdout, Command, ExitStatus};

/// Ends with all that it has started, unless it has ended by itself.
pub(super) struct PluginProcess {
    child: Child,
    /// It is not a part of this program's own group.
    #[cfg(unix)]
    leads_group: bool,
    has_ended: bool,
}

impl PluginProcess {
    /// Starts it. One that asks at the terminal stays in this program's group: from another one it could not read there,
    /// and Ctrl-C reaches it as it reaches this program.
    pub(super) fn start(command: &mut Command, asks: bool) -> io::Result<Self> {
        // A group of its own: a shell's children would outlive the shell.
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

    pub(super) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// How it ended, once it has.
    pub(super) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.has_ended |= status.is_some();
        Ok(status)
    }

    /// Ends it, without waiting for its end.
    pub(super) fn kill(&mut self) {
        // Once it was waited for, its number may be another's.
        if self.has_ended {
            return;
        }
        // Whatever cannot be ended has ended by itself.
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
        // Otherwise nobody would know that it has ended.
        let _ = self.child.wait();
    }
}
