//! The command as users run it: arguments and files in; standard output, standard error and an exit status out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(unix)]
mod audit;
mod command;
mod diff;
mod inert;
mod new;
mod notifications;
mod replay;
#[cfg(unix)]
mod serve;
mod show;
mod watch;
mod zipped;

/// The command under test.
fn program() -> &'static str {
    env!("CARGO_BIN_EXE_listwatch")
}
