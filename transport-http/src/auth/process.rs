use std::io;
use std::process::{Child, ChildStdout, Command, ExitStatus};

/// The process of an exec plugin. If it runs when this is dropped, it is killed with its children.
pub(super) struct PluginProcess {
    child: Child,
    /// Whether it leads its own process group.
    #[cfg(unix)]
    leads_group: bool,
    has_ended: bool,
}

impl PluginProcess {
    /// Starts a plugin. One that may prompt stays in the group of this program, because another group cannot read the
    /// terminal. Ctrl-C reaches it as it reaches this program.
    pub(super) fn start(command: &mut Command, asks: bool) -> io::Result<Self> {
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

    pub(super) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The exit status; `None` while it runs.
    pub(super) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.has_ended |= status.is_some();
        Ok(status)
    }

    /// Kills it, without waiting for its end.
    pub(super) fn kill(&mut self) {
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
