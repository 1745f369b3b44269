//! The delta FIFO and the indexer against their models: all short runs, and many random ones.

use listwatch_tests::ops::{delta_fifo, indexer};

/// Runs that are prefixes of others are checked with those.
#[test]
fn every_short_run_of_the_delta_fifo_is_the_models() {
    use delta_fifo::Op::{
        Add, CommitStage, Delete, DiscardStage, Pop, Restage, Resync, Stage, StagePresent, StageUnreadable, Unstage,
        Update,
    };
    let alphabet = [
        Add(0),
        Update(1),
        Delete(0),
        Delete(1),
        Stage(0),
        Stage(1),
        Restage(0),
        StagePresent(0),
        Unstage(0),
        StageUnreadable,
        CommitStage,
        DiscardStage,
        Resync,
        Pop,
    ];
    every_sequence(&alphabet, 5, &mut delta_fifo::check);
}

#[test]
fn random_runs_of_the_delta_fifo_are_the_models() {
    for seed in 0..4_000 {
        delta_fifo::run(&bytes(seed, 200));
    }
}

#[test]
fn random_runs_of_the_indexer_are_the_models() {
    for seed in 0..4_000 {
        indexer::run(&bytes(seed, 200));
    }
}

/// Calls `check` with every sequence of `len` items of `alphabet`.
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
