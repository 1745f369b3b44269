//! The time from the server's write of an event to the handler that is told: 50 watches, of which each is quiet for a
//! tenth of a second between two events of 9 KB.

use crate::client::{Served, informer};
use crate::server::monotonic;
use crate::{ROUNDS, by_turns, median};
use core::future::poll_fn;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::informer::{Driver, Event};
use listwatch_transport_http::HttpTransport;
use smol::LocalExecutor;
use std::cell::RefCell;
use std::task::Poll;
use std::time;

const WATCHES: usize = 50;
const EVENTS: usize = 2_000;

pub(crate) fn table() {
    for scheme in ["http", "https"] {
        for (reader, rounds) in ["a thread", "the task"].iter().zip(by_turns(|is_polled| measured(scheme, is_polled))) {
            let [half, most] = [50, 99].map(|percent| {
                let of = |round: &Vec<Duration>| round[round.len() * percent / 100].as_nanos() as f64 / 1e3;
                median(rounds.iter().map(of).collect())
            });
            println!("{scheme}, read by {reader}: p50 {half:.0} µs, p99 {most:.0} µs, the medians of {ROUNDS}");
        }
    }
}

/// How late each event was, from the least to the most.
fn measured(scheme: &str, is_polled: bool) -> Vec<Duration> {
    let served = Served::start(scheme, "quiet");
    let late = RefCell::new(Vec::new());
    let executor = LocalExecutor::new();
    let watches: Vec<_> = (0..WATCHES)
        .map(|number| {
            let path = format!("/api/v1/namespaces/ns-{number}/pods");
            executor.spawn(follow(path, served.transport(is_polled), &late))
        })
        .collect();
    smol::block_on(executor.run(async {
        for watch in watches {
            watch.await;
        }
    }));
    drop(executor);
    let mut late = late.into_inner();
    late.sort();
    late
}

/// Notes how late the events of one watch are.
async fn follow(path: String, transport: HttpTransport, late: &RefCell<Vec<Duration>>) {
    let mut driver = Driver::new(informer(&path), transport);
    let began = time::Instant::now();
    let now = || Instant::ZERO + began.elapsed();
    driver.informer_mut().start(now());
    for _ in 0..EVENTS / WATCHES {
        poll_fn(|cx| {
            loop {
                match std::task::ready!(driver.poll(now(), cx)) {
                    Event::Failed(report) => panic!("{report}"),
                    event => {
                        let Some(object) = event.object() else { continue };
                        let sent = Duration::from_nanos(object.meta().resource_version().parse().unwrap());
                        late.borrow_mut().push(monotonic() - sent);
                        return Poll::Ready(());
                    }
                }
            }
        })
        .await;
    }
}
