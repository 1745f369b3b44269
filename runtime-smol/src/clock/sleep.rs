use super::source::Source;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use listwatch_core::Instant;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Waits for a moment, under any executor; see [`Clock::sleep_until`](crate::Clock::sleep_until).
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Sleep {
    source: Arc<Source>,
    at: Instant,
    timer: Timer,
}

#[derive(Debug)]
enum Timer {
    None,
    Real(smol::Timer),
    /// The sleeper's number.
    Simulated(u64),
}

impl Sleep {
    pub(super) fn until(source: Arc<Source>, at: Instant) -> Self {
        Self { source, at, timer: Timer::None }
    }

    /// The moment at which the sleep ends.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The timer's time stands still while the machine sleeps, and the clock's does not. So the timer gets what is left.
    fn poll_real(&mut self, speed: NonZeroU32, cx: &mut Context<'_>) -> Poll<()> {
        if matches!(self.timer, Timer::None) {
            let left = self.at.saturating_since(self.source.now()) / speed.get();
            self.timer = Timer::Real(smol::Timer::after(left));
        }
        // The clock decides, not the timer: one that fires early by a rounding is armed again.
        while let Timer::Real(timer) = &mut self.timer {
            if Pin::new(&mut *timer).poll(cx).is_pending() {
                return Poll::Pending;
            }
            if self.source.now() >= self.at {
                break;
            }
            timer.set_after(Duration::from_micros(50));
        }
        Poll::Ready(())
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let is_over = self.source.now() >= self.at || self.poll_timer(cx).is_ready();
        if is_over && let Some(witness) = crate::witness::present() {
            witness.on_awake();
        }
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Sleep {
    /// Polls the timer of a sleep that is not over by the clock.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let source = Arc::clone(&self.source);
        match &*source {
            Source::Real { speed, .. } => self.poll_real(*speed, cx),
            Source::Simulated { time, .. } => {
                let number = if let Timer::Simulated(number) = self.timer { Some(number) } else { None };
                let number = time.sleep(self.at, number, cx.waker());
                self.timer = number.map_or(Timer::None, Timer::Simulated);
                Poll::Pending
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let (Some(time), Timer::Simulated(number)) = (self.source.simulated(), &self.timer) {
            time.forget(self.at, *number);
        }
    }
}
