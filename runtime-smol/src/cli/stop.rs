//! When to end.

use async_signal::{Signal, Signals};
use listwatch_runtime_smol::Clock;
use smol::stream::StreamExt;
use std::time::Duration;

/// Done when somebody asks for the end, by Ctrl-C or by a signal of the system's, or when `duration` is over. Who asks
/// twice is not made to wait for anything, such as for somebody to read what is printed.
///
/// # Errors
/// Where the system does not tell of signals.
pub(crate) fn stop(clock: &Clock, duration: Option<Duration>) -> std::io::Result<impl Future<Output = ()> + use<>> {
    let signals: Vec<Signal> = asked_by().collect();
    #[cfg(unix)]
    at_once_the_second_time(&signals)?;
    let mut signals = Signals::new(signals)?;
    let end = duration.map(|duration| clock.sleep_until(clock.now() + duration));
    Ok(smol::future::or(
        async move {
            let _which = signals.next().await;
        },
        async move {
            match end {
                Some(end) => end.await,
                None => smol::future::pending().await,
            }
        },
    ))
}

/// The signals that ask for the end. Under `nohup`, a terminal that goes away does not.
#[cfg(unix)]
fn asked_by() -> impl Iterator<Item = Signal> {
    let hangup = (!is_ignored(Signal::Hup)).then_some(Signal::Hup);
    [Signal::Int, Signal::Term].into_iter().chain(hangup)
}

#[cfg(not(unix))]
fn asked_by() -> impl Iterator<Item = Signal> {
    [Signal::Int].into_iter()
}

#[cfg(unix)]
fn at_once_the_second_time(signals: &[Signal]) -> std::io::Result<()> {
    use signal_hook::flag::{register, register_conditional_default};
    let asked = std::sync::Arc::default();
    for signal in signals.iter().map(|signal| *signal as i32) {
        register_conditional_default(signal, std::sync::Arc::clone(&asked))?;
        register(signal, std::sync::Arc::clone(&asked))?;
    }
    Ok(())
}

/// Whether this process was started with the signal ignored, where the system tells: on Linux.
#[cfg(unix)]
fn is_ignored(signal: Signal) -> bool {
    let mask = crate::process::status("SigIgn").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}
