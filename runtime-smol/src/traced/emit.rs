//! Calls of a subscriber, which is the program's own code.

use crate::caught::caught_call;
use tracing::dispatcher::get_default;
use tracing::subscriber::NoSubscriber;

/// An event of a level that is known when it is told.
macro_rules! event_at {
    ($level:expr, target: $target:expr, $($fields:tt)+) => {
        match $level {
            tracing::Level::ERROR => tracing::event!(target: $target, tracing::Level::ERROR, $($fields)+),
            tracing::Level::WARN => tracing::event!(target: $target, tracing::Level::WARN, $($fields)+),
            tracing::Level::INFO => tracing::event!(target: $target, tracing::Level::INFO, $($fields)+),
            _ => tracing::event!(target: $target, tracing::Level::DEBUG, $($fields)+),
        }
    };
}
pub(crate) use event_at;

/// Tells something. False if the thread has no subscriber, or its subscriber panics.
pub(crate) fn told(tell: impl FnOnce()) -> bool {
    caught_call(|| {
        tell();
        get_default(|dispatch| !dispatch.is::<NoSubscriber>())
    })
    .unwrap_or(false)
}
