//! What one of two sequences has and the other has not.

use std::collections::HashMap;

/// The places of a table that aligns two sequences.
const MOST_PLACES: usize = 1 << 22;

/// A write of an object, or another part of its time line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// Of steps that may be one and the same with other fields.
    pub(super) kind: u64,
    /// Of steps that are equal.
    pub(super) hash: u64,
    /// The number of its entry.
    pub(super) number: u64,
}

/// A step that differs: its numbers in A and B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unlike {
    pub(super) numbers: [Option<u64>; 2],
    /// Whether it is the same, in another order.
    pub(super) has_moved: bool,
}

/// The steps that have no equal one in their place, and how many have.
pub(super) fn unlike(a: &[Step], b: &[Step]) -> (Vec<Unlike>, u64) {
    let is_same = |(one, other): &(&Step, &Step)| one.hash == other.hash;
    let before = a.iter().zip(b).take_while(is_same).count();
    let (a, b) = (&a[before..], &b[before..]);
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(is_same).count();
    let (a, b) = (&a[..a.len() - behind], &b[..b.len() - behind]);
    let (gaps, common) = gaps(a, b);
    (differences(gaps), (before + behind + common) as u64)
}

/// Steps, each with the number of its gap.
type Left<'s> = Vec<(usize, &'s Step)>;

/// The steps between those that both have, each with the number of its gap, and how many both have.
fn gaps<'s>(a: &'s [Step], b: &'s [Step]) -> ([Left<'s>; 2], usize) {
    let width = b.len() + 1;
    if (a.len() + 1).saturating_mul(width) > MOST_PLACES {
        return ([a.iter().map(|step| (0, step)).collect(), b.iter().map(|step| (0, step)).collect()], 0);
    }
    // How many steps both have from here on.
    let mut common = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = match a[i].hash == b[j].hash {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut gap, mut left) = (0, 0, 0, [Vec::new(), Vec::new()]);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i].hash == b[j].hash {
            (i, j, gap) = (i + 1, j + 1, gap + 1);
        } else if j == b.len() || (i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            left[0].push((gap, &a[i]));
            i += 1;
        } else {
            left[1].push((gap, &b[j]));
            j += 1;
        }
    }
    (left, gap)
}

/// Equal steps anywhere have moved. Of the others, those of a kind in a gap belong together.
fn differences([a, b]: [Left<'_>; 2]) -> Vec<Unlike> {
    let mut found = Vec::new();
    let (a, b) = paired(a, b, |(_, step)| (0, step.hash), |numbers| found.push(Unlike { numbers, has_moved: true }));
    let mut add = |numbers| found.push(Unlike { numbers, has_moved: false });
    let (a, b) = paired(a, b, |(gap, step)| (gap, step.kind), &mut add);
    a.into_iter().for_each(|(_, step)| add([Some(step.number), None]));
    b.into_iter().for_each(|(_, step)| add([None, Some(step.number)]));
    found
}

/// Pairs steps of the same mark in their order, and returns those that are left.
fn paired<'s>(
    a: Left<'s>,
    b: Left<'s>,
    mark: impl Fn((usize, &Step)) -> (usize, u64),
    mut pair: impl FnMut([Option<u64>; 2]),
) -> (Left<'s>, Left<'s>) {
    let mut waiting = HashMap::<_, Vec<_>>::new();
    a.into_iter().rev().for_each(|step| waiting.entry(mark(step)).or_default().push(step));
    let mut left = Vec::new();
    for step in b {
        match waiting.get_mut(&mark(step)).and_then(Vec::pop) {
            Some((_, own)) => pair([Some(own.number), Some(step.1.number)]),
            None => left.push(step),
        }
    }
    let mut waiting: Vec<_> = waiting.into_values().flatten().collect();
    waiting.sort_unstable_by_key(|(_, step)| step.number);
    (waiting, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each letter is a step: its case is its hash, and the letter its kind.
    fn steps(text: &str) -> Vec<Step> {
        let step = |(number, byte): (usize, u8)| Step {
            kind: byte.to_ascii_lowercase().into(),
            hash: byte.into(),
            number: number as u64,
        };
        text.bytes().enumerate().map(step).collect()
    }

    #[test]
    fn sequences_are_aligned_and_what_is_left_is_paired_by_its_kind() {
        let (only_a, only_b) = (|a| (Some(a), None, false), |b| (None, Some(b), false));
        for (a, b, expected, same) in [
            ("abc", "abc", vec![], 3),
            ("abc", "aBc", vec![(Some(1), Some(1), false)], 2),
            ("abc", "ac", vec![only_a(1)], 2),
            ("ac", "axyc", vec![only_b(1), only_b(2)], 2),
            ("xab", "abx", vec![(Some(0), Some(2), true)], 2),
            ("aaaa", "aa", vec![only_a(2), only_a(3)], 2),
            ("", "", vec![], 0),
        ] {
            let (found, count) = unlike(&steps(a), &steps(b));
            let found: Vec<_> = found.iter().map(|it| (it.numbers[0], it.numbers[1], it.has_moved)).collect();
            assert_eq!((found, count), (expected, same), "{a} {b}");
        }
    }

    #[test]
    fn long_sequences_without_a_common_step_take_no_table() {
        let (a, b) = (steps(&"a".repeat(10_000)), steps(&"b".repeat(10_000)));
        assert_eq!(unlike(&a, &b).0.len(), 20_000);
    }
}
