//! Work that is no part of the reconcile that awaits it.

use core::future::poll_fn;
use core::pin::Pin;

/// Polls a future without the witness of the reconcile that polls it: what it reads, sends and asks is not noted.
pub(crate) async fn unwitnessed<F: Future>(mut future: Pin<Box<F>>) -> F::Output {
    poll_fn(move |cx| {
        #[cfg(feature = "file")]
        return crate::witness::with(None, || future.as_mut().poll(cx));
        #[cfg(not(feature = "file"))]
        future.as_mut().poll(cx)
    })
    .await
}
