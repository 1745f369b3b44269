//! The CPU time of a watch of 40,000 events of 10 KB, of which the metadata is decoded. The server writes one after the
//! other, as fast as the client reads.
//!
//! `once http` and `once https` print the milliseconds of one run, so that two builds can be compared by turns. With
//! `polled` behind that, the task reads the watch.

use crate::client::{Served, informer};
use crate::server::{EVENTS, version};
use crate::{ROUNDS, by_turns, median};
use listwatch_core::Instant;
use listwatch_core::informer::{Driver, Event};
use listwatch_transport_http::HttpTransport;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time;

pub(crate) fn table() {
    for scheme in ["http", "https"] {
        for (reader, rounds) in ["a thread", "the task"].iter().zip(by_turns(|is_polled| followed(scheme, is_polled))) {
            let median = median(rounds);
            println!("{scheme}, read by {reader}: {median:.0} ms of CPU time, the median of {ROUNDS}");
        }
    }
}

/// The CPU time of one watch in milliseconds.
pub(crate) fn followed(scheme: &str, is_polled: bool) -> f64 {
    let served = Served::start(scheme, "bulk");
    let transport = served.transport(is_polled);
    let before = cpu();
    follow(transport);
    cpu() - before
}

/// Follows to the last event, on this thread alone.
fn follow(transport: HttpTransport) {
    let mut driver = Driver::new(informer("/api/v1/pods"), transport);
    let (began, waker) = (time::Instant::now(), Waker::from(Arc::new(Unpark(std::thread::current()))));
    let now = || Instant::ZERO + began.elapsed();
    driver.informer_mut().start(now());
    let (mut cx, last) = (Context::from_waker(&waker), version(EVENTS - 1));
    loop {
        match driver.poll(now(), &mut cx) {
            Poll::Pending => std::thread::park(),
            Poll::Ready(Event::Failed(report)) => panic!("{report}"),
            Poll::Ready(event) if event.object().is_some_and(|it| it.meta().resource_version() == last) => return,
            Poll::Ready(_) => {}
        }
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The CPU time of this process up to now, in milliseconds.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
