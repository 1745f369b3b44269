//! Objects that cannot be decoded: the first ones are told, and the others are counted.

use crate::complaint::complain;
use crate::live::Live;
use listwatch_runtime_smol::decode::DecodeError;
use listwatch_runtime_smol::text::Printable;
use std::fmt::Display;

/// How many are told one by one.
const TOLD: u64 = 10;

/// How many characters of a key, and of a decoder's error, are told.
const SHORT: usize = 300;

/// Tells of the object that is the `count`th of them in `place`, unless enough of them were told.
pub(crate) fn complain_of(undecodable: &DecodeError, count: u64, place: &dyn Display, live: &Live) {
    if count > TOLD {
        return;
    }
    let error = Printable::new(&undecodable.error).at_most(SHORT);
    let rest = if count == TOLD { "; more of them are counted, and told at the end" } else { "" };
    live.aside(|| match &undecodable.key {
        Some(key) => complain(format_args!("{place}: {}: {error}{rest}", Printable::new(key).at_most(SHORT))),
        None => complain(format_args!("{place}: an object without a readable name: {error}{rest}")),
    });
}

/// Tells at the end how many of `count` were not told one by one.
pub(crate) fn complain_of_the_rest(count: u64, place: &dyn Display) {
    if let Some(rest @ 1..) = count.checked_sub(TOLD) {
        complain(format_args!("{place}: {rest} more objects could not be decoded"));
    }
}
