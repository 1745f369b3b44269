//! The machines against their models and rules: all short runs, many random ones, and those that fuzzing once found.

use listwatch_core::queue::{Outcome, Priority, WhileDelayed};
use listwatch_tests::ops::controller;
use listwatch_tests::ops::work_queue::{Op, Setup};
use listwatch_tests::ops::{self, event_log, work_queue};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Runs that are prefixes of others are checked with those.
#[test]
fn every_short_run_of_the_work_queue_is_the_models() {
    let mut alphabet = vec![Op::Get, Op::Done(0), Op::Done(1), Op::Advance(2), Op::Advance(9), Op::ShutDown];
    for key in 0..2 {
        alphabet.extend([Op::Add(key), Op::AddAfter(key, 3), Op::AddRateLimited(key), Op::Forget(key)]);
    }
    every_sequence(&alphabet, 5, &mut |ops| work_queue::check(Setup::default(), ops));
}

#[test]
fn every_short_run_of_client_gos_operations_is_the_models() {
    let alphabet = [
        Op::Add(0),
        Op::Add(1),
        Op::AddAfter(0, 3),
        Op::AddRateLimited(0),
        Op::Get,
        Op::Done(0),
        Op::Done(1),
        Op::Advance(2),
        Op::Advance(9),
    ];
    every_sequence(&alphabet, depth(), &mut |ops| work_queue::check(Setup::default(), ops));
}

#[test]
fn every_short_run_with_delays_that_are_cut_short_or_kept_is_the_models() {
    let alphabet = [
        Op::Add(0),
        Op::AddAfter(0, 3),
        Op::AddRateLimited(0),
        Op::Add(1),
        Op::Get,
        Op::Done(0),
        Op::Advance(2),
        Op::Advance(9),
    ];
    for while_delayed in [WhileDelayed::Promote, WhileDelayed::KeepWaiting] {
        let setup = Setup { while_delayed, ..Setup::default() };
        every_sequence(&alphabet, depth(), &mut |ops| work_queue::check(setup, ops));
    }
}

#[test]
fn every_short_run_with_parking_is_the_models() {
    let alphabet = [
        Op::Add(0),
        Op::AddAfter(0, 3),
        Op::AddRateLimited(0),
        Op::AddRateLimited(1),
        Op::Forget(0),
        Op::Get,
        Op::Done(0),
        Op::Advance(9),
    ];
    for while_delayed in [WhileDelayed::RunTwice, WhileDelayed::Promote] {
        every_sequence(&alphabet, depth(), &mut |ops| {
            work_queue::check(Setup { while_delayed, max_retries: 1, ..Setup::default() }, ops);
        });
    }
}

#[test]
fn every_short_run_with_outcomes_is_the_models() {
    let time = Duration::from_millis(3);
    let alphabet = [
        Op::Add(0),
        Op::Get,
        Op::Finish(0, Outcome::Done),
        Op::Finish(0, Outcome::Retry),
        Op::Finish(0, Outcome::RetryAfter(time)),
        Op::Finish(0, Outcome::RequeueAfter(time)),
        Op::Finish(0, Outcome::Panicked),
        Op::Advance(9),
        Op::ShutDown,
    ];
    for max_retries in [u32::MAX, 1] {
        every_sequence(&alphabet, depth(), &mut |ops| {
            work_queue::check(Setup { max_retries, ..Setup::default() }, ops);
        });
    }
}

#[test]
fn every_short_run_with_held_jobs_is_the_models() {
    let alphabet = [
        Op::Add(0),
        Op::Get,
        Op::Hold(0, Outcome::Done),
        Op::Hold(0, Outcome::Retry),
        Op::Hold(0, Outcome::Terminal),
        Op::Finish(0, Outcome::Done),
        Op::Finish(0, Outcome::Transient(Duration::ZERO)),
        Op::Done(0),
        Op::Advance(9),
    ];
    for max_retries in [u32::MAX, 0] {
        every_sequence(&alphabet, depth(), &mut |ops| {
            work_queue::check(Setup { max_retries, ..Setup::default() }, ops);
        });
    }
}

/// The keys 0 and 2 are of one group.
#[test]
fn every_short_run_with_priorities_and_groups_is_the_models() {
    let alphabet = [
        Op::AddWithPriority(0, Priority::Urgent),
        Op::AddWithPriority(1, Priority::Low),
        Op::AddWithPriority(1, Priority::High),
        Op::AddWithPriority(2, Priority::Low),
        Op::Add(0),
        Op::Add(2),
        Op::AddAfter(1, 3),
        Op::Get,
        Op::Done(0),
        Op::Advance(9),
    ];
    for aging in [1, 2] {
        let setup = Setup { aging: Some(aging), ..Setup::default() };
        every_sequence(&alphabet, depth(), &mut |ops| work_queue::check(setup, ops));
    }
}

#[test]
fn every_short_run_with_a_drain_is_the_models() {
    let alphabet = [
        Op::Add(0),
        Op::Add(1),
        Op::AddAfter(0, 3),
        Op::Get,
        Op::Done(0),
        Op::Drain(2),
        Op::ShutDown,
        Op::Advance(2),
        Op::Advance(9),
    ];
    every_sequence(&alphabet, depth(), &mut |ops| work_queue::check(Setup::default(), ops));
}

#[test]
fn random_runs_of_the_work_queue_are_the_models() {
    for seed in 0..4_000 {
        work_queue::run(&bytes(seed, 400));
    }
}

#[test]
fn every_run_of_five_of_a_controller_is_the_models() {
    use controller::{Op, Setup, check};
    let alphabet = [
        Op::Add(0, Priority::Normal),
        Op::Add(1, Priority::Low),
        Op::Take,
        Op::Finish(0, Outcome::Done, 0),
        Op::Finish(0, Outcome::Done, 1),
        Op::Finish(0, Outcome::Retry, 1),
        Op::Fulfil(0, 0),
        Op::Advance(9),
        Op::Drain(2),
    ];
    every_sequence(&alphabet, 5, &mut |ops| check(Setup::default(), ops));
}

#[test]
fn every_run_of_five_of_a_controller_that_debounces_is_the_models() {
    use controller::{Op, Setup, check};
    let alphabet = [
        Op::Add(0, Priority::Low),
        Op::Add(0, Priority::Urgent),
        Op::Take,
        Op::Finish(0, Outcome::Retry, 0),
        Op::Finish(0, Outcome::Done, 1),
        Op::Advance(2),
        Op::Advance(9),
        Op::Drain(2),
    ];
    for while_delayed in [WhileDelayed::Promote, WhileDelayed::KeepWaiting] {
        let setup = Setup { while_delayed, debounce: Some((3, 4)), ..Setup::default() };
        every_sequence(&alphabet, 5, &mut |ops| check(setup, ops));
    }
}

#[test]
fn every_run_of_five_of_a_controller_that_starts_is_the_models() {
    use controller::{Op, Setup, check};
    let alphabet = [
        Op::Add(0, Priority::Normal),
        Op::Take,
        Op::Finish(0, Outcome::Terminal, 1),
        Op::SourceSynced,
        Op::Start(None),
        Op::Start(Some(2)),
        Op::Advance(2),
        Op::PollPeriod,
    ];
    let setup = Setup { has_source: true, period: Some(2), max_retries: 0, ..Setup::default() };
    every_sequence(&alphabet, 5, &mut |ops| check(setup, ops));
}

#[test]
fn random_runs_of_a_controller_are_the_models() {
    for seed in 0..4_000 {
        controller::run(&bytes(seed, 400));
    }
}

#[test]
fn random_runs_of_the_limiters_are_the_models() {
    for seed in 0..4_000 {
        ops::limiters::run(&bytes(seed, 200));
    }
}

#[test]
fn the_seeds_of_the_limiters_are_the_models() {
    replay_seeds("limiters", ops::limiters::run);
}

#[test]
fn random_runs_of_an_election_keep_its_rules() {
    for seed in 0..20_000 {
        ops::election::run(&bytes(seed, 300));
    }
}

#[test]
fn the_seeds_of_the_election_keep_its_rules() {
    replay_seeds("election", ops::election::run);
}

#[test]
fn random_runs_of_an_audit_keep_its_rules() {
    for seed in 0..20_000 {
        ops::audit::run(&bytes(seed, 300));
    }
}

#[test]
fn the_seeds_of_the_audit_keep_its_rules() {
    replay_seeds("audit", ops::audit::run);
}

#[test]
fn random_runs_of_a_recorder_keep_its_rules() {
    for seed in 0..20_000 {
        ops::recorder::run(&bytes(seed, 300));
    }
}

#[test]
fn the_seeds_of_the_recorder_keep_its_rules() {
    replay_seeds("recorder", ops::recorder::run);
}

#[test]
fn the_seeds_of_the_controller_are_the_models() {
    replay_seeds("controller", controller::run);
}

#[test]
fn the_seeds_of_the_work_queue_are_the_models() {
    replay_seeds("work_queue", work_queue::run);
}

/// A watch with a relist now and then.
#[test]
fn every_short_run_of_a_watched_delta_fifo_is_the_models() {
    use ops::delta_fifo::Op::{Add, CommitStage, Delete, Pop, Resync, Stage, Update};
    let alphabet = [Add(0), Update(1), Delete(0), Delete(1), Stage(0), Stage(1), CommitStage, Resync, Pop];
    every_sequence(&alphabet, depth(), &mut ops::delta_fifo::check);
}

/// All that can happen to a list while it is read.
#[test]
fn every_short_run_of_a_staging_delta_fifo_is_the_models() {
    use ops::delta_fifo::Op::{
        CommitStage, DiscardStage, Pop, Restage, Stage, StagePresent, StageUnreadable, Unstage, Update,
    };
    let alphabet = [
        Update(0),
        Stage(0),
        Stage(1),
        Restage(0),
        StagePresent(0),
        Unstage(0),
        StageUnreadable,
        CommitStage,
        DiscardStage,
        Pop,
    ];
    every_sequence(&alphabet, depth(), &mut ops::delta_fifo::check);
}

/// What one queue tells step by step, and the other coalesced, comes to the same.
#[test]
fn coalescing_loses_steps_but_neither_the_end_nor_that_an_object_was_deleted() {
    use ops::delta_fifo::Op::{Add, CommitStage, Delete, Pop, Resync, Stage, Update};
    let alphabet = [Add(0), Add(1), Update(0), Delete(0), Delete(1), Stage(1), CommitStage, Resync, Pop];
    every_sequence(&alphabet, depth(), &mut ops::delta_fifo::check_folding);
}

/// Subscribers that read, that do not, that join late and that leave. The first one's limit is one entry.
#[test]
fn every_short_run_of_an_event_log_is_the_models() {
    use ops::event_log::Op::{Delete, Join, Leave, Poll, Set, Synced};
    let alphabet = [Set(0), Set(1), Delete(0), Poll(0), Poll(1), Join(event_log::kind(4)), Leave(0), Synced];
    for first in [1, 6] {
        let setup = event_log::Setup { limit: 1, heedless: false, first: event_log::kind(first) };
        every_sequence(&alphabet, depth(), &mut |ops| event_log::check(setup, ops));
    }
}

/// The object of one key comes back with the same state, a later one, or as another object.
#[test]
fn every_short_run_of_an_event_log_with_resyncs_is_the_models() {
    use ops::event_log::Op::{Delete, Join, Poll, Recreate, Resync, Set, Touch};
    let alphabet = [Set(0), Touch(0), Recreate(0), Delete(0), Poll(0), Poll(1), Join(event_log::kind(3)), Resync(0)];
    for (first, limit, heedless) in [(4, 1, false), (6, 2, true)] {
        let setup = event_log::Setup { limit, heedless, first: event_log::kind(first) };
        every_sequence(&alphabet, depth(), &mut |ops| event_log::check(setup, ops));
    }
}

#[test]
fn random_runs_of_the_event_log_are_the_models() {
    for seed in 0..1_000 {
        event_log::run(&bytes(seed, 200));
    }
}

#[test]
fn the_seeds_of_the_event_log_are_the_models() {
    replay_seeds("event_log", event_log::run);
}

/// Enough of them are made that the rules for made changes say something.
#[test]
fn random_changes_lose_nothing_that_their_type_does_not_know() {
    use ops::change::{Ending, run};
    let mut endings = BTreeMap::new();
    for seed in 0..8_000 {
        *endings.entry(run(&bytes(seed, 20 + seed as usize % 300))).or_insert(0) += 1;
    }
    let count = |ending| endings.get(&ending).copied().unwrap_or(0);
    assert!(count(Ending::Patched) > 500 && count(Ending::LaidOver) > 1_000, "{endings:?}");
    assert!(count(Ending::Refused) > 1_000 && count(Ending::Nothing) > 1_000, "{endings:?}");
}

#[test]
fn the_seeds_of_changes_lose_nothing() {
    replay_seeds("change", |data| _ = ops::change::run(data));
}

#[test]
fn random_runs_of_the_delta_fifo_are_the_models() {
    for seed in 0..4_000 {
        ops::delta_fifo::run(&bytes(seed, 200));
    }
}

#[test]
fn random_runs_of_the_indexer_are_the_models() {
    for seed in 0..4_000 {
        ops::indexer::run(&bytes(seed, 200));
    }
}

#[test]
fn the_seeds_of_the_delta_fifo_are_the_models() {
    replay_seeds("delta_fifo", ops::delta_fifo::run);
}

#[test]
fn the_seeds_of_the_indexer_are_the_models() {
    replay_seeds("indexer", ops::indexer::run);
}

#[test]
fn the_seeds_of_the_framer_are_the_models() {
    replay_seeds("framer", ops::framer::run);
}

#[test]
fn the_seeds_of_the_reader_are_read_as_by_serde_json() {
    replay_seeds("reader", ops::reader::run);
}

/// `cargo run --release --example neighbours` reads as many as it is told.
#[test]
fn neighbours_of_the_readers_seeds_are_read_as_by_serde_json() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/reader");
    for seed in seeds.read_dir().expect("a folder of seeds") {
        let seed = std::fs::read(seed.expect("a readable folder").path()).expect("a readable seed");
        let Some((header, text)) = seed.split_first_chunk::<2>() else { continue };
        for round in 0..100 {
            let mut bytes = bytes(round, 64).into_iter().cycle();
            let mut random = |below: usize| {
                let number = bytes.next().zip(bytes.next()).map_or(0, |(a, b)| usize::from(a) << 8 | usize::from(b));
                number % below.max(1)
            };
            let neighbour = ops::reader::neighbour(text, &mut random);
            ops::reader::run(&[header.as_slice(), &neighbour].concat());
        }
    }
}

/// Objects of the members that the projection knows, lists and watches of them, and neighbours of each.
#[test]
fn a_projection_of_random_objects_is_what_serde_json_reads() {
    replay_seeds("projection", ops::projection::run);
    for seed in 0..300 {
        // Where they end, so does the text: repeated ones made an array in an array without an end.
        let mut bytes = bytes(seed, 1 << 14).into_iter();
        let mut random = |below: usize| {
            let number = bytes.next().zip(bytes.next()).map_or(0, |(a, b)| usize::from(a) << 8 | usize::from(b));
            number % below.max(1)
        };
        for text in ops::projection::texts(&mut random) {
            ops::projection::run(&text);
            let (header, text) = text.split_at(2);
            ops::projection::run(&[header, &ops::reader::neighbour(text, &mut random)].concat());
        }
    }
}

#[test]
fn packed_texts_come_back_and_no_block_does_harm() {
    for seed in 0..4_000 {
        let few = if seed % 3 == 0 { 255 } else { 3 };
        let mut bytes: Vec<u8> = bytes(seed, 3 + seed as usize % 1000).iter().map(|byte| byte & few).collect();
        (bytes[0], bytes[1]) = ((seed % 4) as u8, (seed / 4 % 256) as u8);
        ops::packed::run(&bytes);
    }
    replay_seeds("packed", ops::packed::run);
}

#[test]
fn the_seeds_of_the_decoder_keep_its_rules() {
    replay_seeds("decoder", ops::decoder::run);
}

#[test]
fn the_seeds_of_the_kubeconfigs_show_no_credential() {
    replay_seeds("kubeconfig", ops::kubeconfig::run);
}

/// The seeds, and answers that differ from one in a few bytes.
#[test]
fn answers_like_the_seeds_are_read_alike_in_any_pieces_and_as_by_httparse() {
    const MARKS: &[u8] = b"\r\n: ;,\t0159afAF\0\x7f\xffxHt-";
    replay_seeds("exchange", ops::exchange::run);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/exchange");
    for (seed, file) in (0..).zip(folder.read_dir().expect("a folder of seeds")) {
        let whole = std::fs::read(file.expect("a readable folder").path()).expect("a readable seed");
        for round in 0..1_000 {
            let mut answer = whole.clone();
            for change in bytes(seed * 1_000 + round, 12).chunks(4) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % answer.len();
                let mark = MARKS[usize::from(change[2]) % MARKS.len()];
                match change[3] % 4 {
                    0 => answer[at] = mark,
                    1 => answer.insert(at, mark),
                    2 if answer.len() > 1 => drop(answer.remove(at)),
                    _ => answer.truncate(at + 1),
                }
            }
            ops::exchange::run(&answer);
        }
    }
}

#[test]
fn random_runs_of_the_informer_keep_its_rules() {
    for seed in 0..4_000 {
        ops::informer::run(&bytes(seed, 20 + seed as usize % 300));
    }
}

#[test]
fn the_seeds_of_the_informer_keep_its_rules() {
    replay_seeds("informer", ops::informer::run);
}

/// Memory of four sizes; in one of them the cache is always full.
#[test]
fn random_runs_of_the_informer_in_fixed_memory_keep_its_rules() {
    for seed in 0..8_000 {
        let memory = [(seed % 4) as u8];
        ops::informer::run_fixed(&[&memory[..], &bytes(seed, 20 + seed as usize % 300)].concat());
    }
}

#[test]
fn the_seeds_of_the_informer_in_fixed_memory_keep_its_rules() {
    replay_seeds("fixed_informer", ops::informer::run_fixed);
}

#[test]
fn the_seeds_of_the_captures_keep_the_rules_of_a_transport() {
    replay_seeds("capture", ops::capture::run);
}

#[test]
fn audit_logs_become_histories_in_order() {
    replay_seeds("audit_log", ops::audit_log::run);
    for seed in 0..400 {
        ops::audit_log::run(&[&[1], &*bytes(seed, 40 + 4 * seed as usize)].concat());
    }
}

#[test]
fn random_runs_of_a_simulated_cluster_end_with_caches_that_are_its_lists() {
    for seed in 0..400 {
        ops::cluster::run(&bytes(seed, 40 + seed as usize % 300));
    }
}

/// Calls `check` with every sequence of `len` items of `alphabet`.
/// How many steps each of these runs has. `MODEL_DEPTH=6` takes ten times as long.
fn depth() -> usize {
    std::env::var("MODEL_DEPTH").map_or(5, |depth| depth.parse().expect("MODEL_DEPTH is a number of steps"))
}

fn every_sequence<T: Copy>(alphabet: &[T], len: usize, check: &mut impl FnMut(&[T])) {
    let mut digits = vec![0; len];
    let mut sequence = vec![alphabet[0]; len];
    loop {
        check(&sequence);
        let Some(turn) = digits.iter().rposition(|digit| digit + 1 < alphabet.len()) else { return };
        digits[turn] += 1;
        digits[turn + 1..].fill(0);
        for (item, digit) in sequence.iter_mut().zip(&digits) {
            *item = alphabet[*digit];
        }
    }
}

/// `len` bytes that follow from `seed`, by Marsaglia's xorshift.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| byte()).collect()
}

fn replay_seeds(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let seeds = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut replayed = 0;
    for seed in seeds {
        let path = seed.expect("a readable folder").path();
        run(&std::fs::read(&path).expect("a readable seed"));
        replayed += 1;
    }
    assert!(replayed > 0, "no seeds in {}", folder.display());
}
