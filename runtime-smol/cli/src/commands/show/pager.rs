//! Standard output, by way of a pager on a terminal.

use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// The bytes that are written at once.
const BUFFER: usize = 64 * 1024;

/// Where lines go.
pub(super) enum Pages {
    Paged(BufWriter<ChildStdin>, Child),
    Plain(BufWriter<Stdout>),
}

impl Pages {
    /// Starts the pager, if standard output is a terminal and the pager can be started.
    pub(super) fn start(is_paged: bool) -> Self {
        let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
        let pager = pager.unwrap_or_else(|| "less -FRX".to_owned());
        let is_paged = is_paged && std::io::stdout().is_terminal() && pager != "cat";
        let words = shlex::split(&pager).filter(|words| is_paged && !words.is_empty());
        let child =
            words.and_then(|words| Command::new(&words[0]).args(&words[1..]).stdin(Stdio::piped()).spawn().ok());
        match child.and_then(|mut child| Some((child.stdin.take()?, child))) {
            Some((stdin, child)) => Self::Paged(BufWriter::with_capacity(BUFFER, stdin), child),
            None => Self::Plain(BufWriter::with_capacity(BUFFER, std::io::stdout())),
        }
    }

    pub(super) fn out(&mut self) -> &mut dyn Write {
        match self {
            Self::Paged(out, _) => out,
            Self::Plain(out) => out,
        }
    }

    /// Writes the rest, and waits until the pager was left.
    pub(super) fn finish(self) -> std::io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Paged(mut out, mut child) => {
                let written = out.flush();
                // A pager that was left reads no more, so its buffer is not written again.
                drop(out.into_parts());
                child.wait().and(written)
            }
        }
    }
}
