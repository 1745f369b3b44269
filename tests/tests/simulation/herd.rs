//! Clients that lose their server together are back soon, and not together.

use listwatch_core::{InformerConfig, Instant};
use listwatch_tests::sim::{Connection, Fault, Which, World, calm_world, prompt_client};
use std::time::Duration;

const CLIENTS: u64 = 1_000;
/// When the server is lost.
const LOST: Duration = Duration::from_secs(300);
const SECOND: Duration = Duration::from_secs(1);

/// How long the server is away, and how many clients may come back in the same second: without an outage as many as
/// client-go's, then no more than they need to be back within eight seconds.
const OUTAGES: [(u64, u64); 6] = [(0, 1_000), (2, 350), (5, 350), (10, 350), (90, 260), (300, 220)];

#[test]
fn a_thousand_clients_that_lose_their_server_are_back_within_eight_seconds_and_one_by_one() {
    for (seconds, most) in OUTAGES {
        for watch_list in [false, true] {
            let back = outage(Duration::from_secs(seconds), watch_list);
            draw(&format!("an outage of {seconds} s"), &back);
            check(&back, most);
        }
    }
}

fn check(back: &[u64], most: u64) {
    assert_eq!(back.len() as u64, CLIENTS, "somebody does not come back");
    let last = back.iter().max().copied().unwrap_or(0);
    assert!(last < 8, "the last one is back in second {last}");
    let peak = (0..=last).map(|second| back.iter().filter(|at| **at == second).count() as u64).max().unwrap_or(0);
    assert!(peak <= most, "{peak} of them within one second");
}

/// In which second after the server's return each client has a watch again.
fn outage(length: Duration, watch_list: bool) -> Vec<u64> {
    let clients = (0..CLIENTS).map(|seed| {
        let mut config = InformerConfig::default();
        config.reflector.watch_list = watch_list;
        let mut client = prompt_client(config, seed);
        // As a runtime does.
        client.informer.seed_unless_chosen(seed);
        client
    });
    let mut world = calm_world(clients.collect());
    let (lost, back) = (Instant::ZERO + LOST, Instant::ZERO + LOST + length);
    for client in &mut world.clients {
        client.script.hold(Fault::ConnectionRefused, Which::Any, lost, back);
        client.informer.start(Instant::ZERO);
    }
    world.advance(lost);
    world.clients.iter_mut().filter_map(|client| client.connection_mut()).for_each(Connection::reset);
    world.advance(back);
    returns(&mut world)
}

fn returns(world: &mut World) -> Vec<u64> {
    let mut seconds = vec![None; world.clients.len()];
    for second in 0..60 {
        world.advance(world.now + SECOND);
        for (at, client) in seconds.iter_mut().zip(&world.clients) {
            *at = at.or_else(|| client.is_at_rest().then_some(second));
        }
    }
    seconds.into_iter().flatten().collect()
}

/// How many come back in each second.
fn draw(title: &str, back: &[u64]) {
    println!("{title}: how many of {CLIENTS} clients are back in which second");
    let last = back.iter().max().copied().unwrap_or(0);
    for second in 0..=last {
        let count = back.iter().filter(|at| **at == second).count();
        println!("{second:>4} {count:>4} {}", "#".repeat(count));
    }
}
