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
    #[cfg(unix)]
    at_once_the_second_time()?;
    #[cfg(unix)]
    let mut signals = Signals::new([Signal::Int, Signal::Term])?;
    #[cfg(not(unix))]
    let mut signals = Signals::new([Signal::Int])?;
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

#[cfg(unix)]
fn at_once_the_second_time() -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::flag::{register, register_conditional_default};
    let asked = std::sync::Arc::default();
    for signal in [SIGINT, SIGTERM] {
        register_conditional_default(signal, std::sync::Arc::clone(&asked))?;
        register(signal, std::sync::Arc::clone(&asked))?;
    }
    Ok(())
}
