//! Signals and the deadline that end a command.

use async_signal::{Signal, Signals};
use listwatch::Clock;
use smol::stream::StreamExt;
use std::pin::Pin;
use std::time::Duration;

/// Completes when the end is requested.
pub(crate) type Stop = Pin<Box<dyn Future<Output = ()>>>;

/// Completes at Ctrl-C, at a signal that asks for the end, or after `duration`. A second signal ends the process at
/// once, whatever it waits for.
///
/// # Errors
/// The system reports no signals.
pub(crate) fn stop(clock: &Clock, duration: Option<Duration>) -> std::io::Result<Stop> {
    let signals: Vec<Signal> = end_signals().collect();
    #[cfg(unix)]
    end_at_second(&signals)?;
    let mut signals = Signals::new(signals)?;
    let end = duration.map(|duration| clock.sleep_until(clock.now() + duration));
    Ok(Box::pin(smol::future::or(
        async move {
            let _signal = signals.next().await;
        },
        async move {
            match end {
                Some(end) => end.await,
                None => smol::future::pending().await,
            }
        },
    )))
}

/// The signals that ask for the end. Under `nohup`, SIGHUP is ignored.
#[cfg(unix)]
fn end_signals() -> impl Iterator<Item = Signal> {
    let hangup = (!is_ignored(Signal::Hup)).then_some(Signal::Hup);
    [Signal::Int, Signal::Term].into_iter().chain(hangup)
}

#[cfg(not(unix))]
fn end_signals() -> impl Iterator<Item = Signal> {
    [Signal::Int].into_iter()
}

#[cfg(unix)]
fn end_at_second(signals: &[Signal]) -> std::io::Result<()> {
    use signal_hook::flag::{register, register_conditional_default};
    let first = std::sync::Arc::default();
    for signal in signals.iter().map(|signal| *signal as i32) {
        register_conditional_default(signal, std::sync::Arc::clone(&first))?;
        register(signal, std::sync::Arc::clone(&first))?;
    }
    Ok(())
}

/// Whether this process was started with the signal ignored. Only Linux tells.
#[cfg(unix)]
fn is_ignored(signal: Signal) -> bool {
    let mask = super::process::status("SigIgn").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}
