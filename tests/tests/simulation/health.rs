//! A server that is sick for an hour is not asked more than it can bear.

use listwatch_core::{InformerConfig, Instant};
use listwatch_tests::sim::{Fault, Refusal, Which, World, Write, calm_world, prompt_client};
use std::time::Duration;

/// How many probes an hour a server gets that does not answer: one in four seconds.
const UNANSWERED: u64 = 900;
/// How many attempts an hour a server gets that refuses requests, or breaks off its answers: client-go makes 190.
const REFUSED: u64 = 110;
/// How many watches an hour a server gets that ends them after moments: client-go makes the next one at once.
const ENDED: u64 = 150;
/// How many watches an hour a server gets that breaks them after ten seconds or more: client-go makes the next one at once.
const BROKEN: u64 = 360;
const HOUR: Duration = Duration::from_secs(3600);
/// When the server falls sick.
const SICK: Duration = Duration::from_secs(120);

/// Every state of failure: what goes wrong, with which requests.
const STATES: [(Fault, Which); 63] = [
    (Fault::BadRequest, Which::Any),
    (Fault::Unauthorized, Which::Any),
    (Fault::Forbidden, Which::Any),
    (Fault::NotFound, Which::Any),
    (Fault::Gone, Which::Any),
    (Fault::Unprocessable, Which::Any),
    (Fault::TooManyRequests, Which::Any),
    (Fault::Throttled, Which::Any),
    (Fault::InternalError, Which::Any),
    (Fault::Unavailable, Which::Any),
    (Fault::GatewayTimeout, Which::Any),
    (Fault::Conflict, Which::Any),
    (Fault::Redirected, Which::Any),
    (Fault::TooLargeByType, Which::Any),
    (Fault::TooLargeByCause, Which::Any),
    (Fault::TooLargeByMessage, Which::Any),
    (Fault::HtmlOk, Which::Any),
    (Fault::HtmlBadGateway, Which::Any),
    (Fault::EmptyBody, Which::Any),
    (Fault::Silence, Which::Any),
    (Fault::ConnectionRefused, Which::Any),
    (Fault::Untrusted, Which::Any),
    (Fault::CutByReset, Which::Any),
    (Fault::CutByEnd, Which::Any),
    (Fault::CutBySilence, Which::Any),
    (Fault::EarlyEnd, Which::Any),
    (Fault::BadRequest, Which::Watches),
    (Fault::Unauthorized, Which::Watches),
    (Fault::Forbidden, Which::Watches),
    (Fault::NotFound, Which::Watches),
    (Fault::Gone, Which::Watches),
    (Fault::TooManyRequests, Which::Watches),
    (Fault::InternalError, Which::Watches),
    (Fault::TooLargeByType, Which::Watches),
    (Fault::HtmlOk, Which::Watches),
    (Fault::EmptyBody, Which::Watches),
    (Fault::Silence, Which::Watches),
    (Fault::CutByReset, Which::Watches),
    (Fault::CutByEnd, Which::Watches),
    (Fault::CutBySilence, Which::Watches),
    (Fault::StreamGone, Which::Watches),
    (Fault::StreamError, Which::Watches),
    (Fault::StreamThrottled, Which::Watches),
    (Fault::EarlyEnd, Which::Watches),
    (Fault::ShortWatch, Which::Watches),
    (Fault::NoBookmarks, Which::Watches),
    (Fault::Compacted, Which::Watches),
    (Fault::Gone, Which::States),
    (Fault::TooLargeByType, Which::States),
    (Fault::Forbidden, Which::States),
    (Fault::InternalError, Which::States),
    (Fault::TooManyRequests, Which::States),
    (Fault::HtmlOk, Which::States),
    (Fault::Silence, Which::States),
    (Fault::CutByReset, Which::States),
    (Fault::CutByEnd, Which::States),
    (Fault::NoInitialEnd, Which::States),
    (Fault::EmptyPages, Which::States),
    (Fault::TokensInTurn, Which::States),
    (Fault::Gone, Which::Pages),
    (Fault::TooLargeByType, Which::Pages),
    (Fault::RepeatedPage, Which::Pages),
    (Fault::TokenExpired, Which::Pages),
];

#[test]
fn a_server_that_is_sick_for_an_hour_gets_no_more_requests_from_one_client_than_its_class_of_failure_allows() {
    let mut found = Vec::new();
    println!("{:<20} {:<8} {:>12} {:>12} {:>12} {:>12}", "fault", "of", "list", "pages", "watch-list", "before sync");
    for (fault, which) in STATES {
        let counts = [(false, 500, SICK), (false, 1, SICK), (true, 500, SICK), (false, 1, Duration::ZERO)]
            .map(|(watch_list, page_size, since)| requests(fault, which, watch_list, page_size, since));
        let [list, pages, watch_list, early] = counts;
        println!(
            "{:<20} {:<8} {list:>12} {pages:>12} {watch_list:>12} {early:>12}",
            format!("{fault:?}"),
            format!("{which:?}")
        );
        let most = most(fault, which);
        found.extend(counts.iter().filter(|count| **count > most).map(|count| format!("{fault:?} {which:?}: {count}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// How many requests an hour of it may lead to.
fn most(fault: Fault, which: Which) -> u64 {
    match (fault, which) {
        (Fault::ConnectionRefused, _) => UNANSWERED,
        (Fault::ShortWatch | Fault::EarlyEnd | Fault::CutByEnd | Fault::CutByReset, Which::Any) => ENDED,
        (_, Which::Any) => REFUSED,
        (Fault::CutByReset, Which::States) => BROKEN,
        // An attempt is as many pages as it takes to see that they lead nowhere.
        (Fault::EmptyPages | Fault::TokensInTurn, _) => 5 * REFUSED,
        // An attempt is a list and a watch.
        (_, Which::Watches | Which::States | Which::Pages) => 2 * REFUSED,
    }
}

/// Each watch works for long enough to show that the server is well, and then its version is gone.
#[test]
fn a_server_that_forgets_versions_after_half_a_minute_is_asked_for_lists_ever_less_often() {
    for page_size in [500, 1] {
        let mut config = InformerConfig::default();
        (config.reflector.watch_list, config.reflector.page_size) = (false, Some(page_size));
        let mut world = calm_world(vec![prompt_client(config, 1)]);
        world.clients[0].informer.start(Instant::ZERO);
        let mut watched = 0;
        while world.now < Instant::ZERO + HOUR {
            world.advance(world.now + Duration::from_secs(1));
            watched = if world.clients[0].is_at_rest() { watched + 1 } else { 0 };
            if watched > 31 {
                world.server.log.put(1, Write::default());
                world.server.compact(world.server.log.revision());
                let gone = Refusal::expired("");
                world.clients[0].connection_mut().into_iter().for_each(|open| open.answer_mut().break_watch(&gone));
            }
        }
        let requests = world.clients[0].tally.requests;
        println!("pages of {page_size}: {requests} requests");
        assert!(requests <= REFUSED, "{requests} requests with pages of {page_size}");
    }
}

/// How many requests there are in an hour of it.
fn requests(fault: Fault, which: Which, watch_list: bool, page_size: u32, since: Duration) -> u64 {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = watch_list;
    config.reflector.page_size = Some(page_size);
    config.reflector.seed = Some(7);
    let mut world = calm_world(vec![prompt_client(config, 1)]);
    let since = Instant::ZERO + since;
    let client = &mut world.clients[0];
    client.script.hold(fault, which, since, since + HOUR);
    if matches!(which, Which::States | Which::Pages) {
        // Who has a state asks for it again only if it cannot watch on.
        client.script.hold(Fault::Compacted, Which::Watches, since, since + HOUR);
    }
    client.informer.start(Instant::ZERO);
    // Somebody writes something every few seconds, or there would be nothing to be missed.
    let write_until = |world: &mut World, until: Instant| {
        while world.now < until {
            world.advance((world.now + Duration::from_secs(11)).min(until));
            world.server.log.put(1, Write::default());
        }
    };
    write_until(&mut world, since);
    world.clients[0].connection_mut().into_iter().for_each(listwatch_tests::sim::Connection::reset);
    let before = world.clients[0].tally.requests;
    write_until(&mut world, since + HOUR);
    world.clients[0].tally.requests - before
}
