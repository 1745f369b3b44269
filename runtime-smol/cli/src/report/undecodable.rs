//! Objects that cannot be decoded: the first ones are reported, and the others are counted.

use crate::output::messages;
use listwatch::decode::DecodeError;
use listwatch::text::Printable;
use std::fmt::Display;

/// The number of objects that are reported one by one.
const REPORTED: u64 = 10;

/// The characters of a key, and of a decoder's error, at the most.
const SHORT: usize = 300;

/// The message about the object that is the `count`th of them in `place`; `None` if enough of them are reported.
pub(crate) fn message(undecodable: &DecodeError, count: u64, place: &dyn Display) -> Option<String> {
    if count > REPORTED {
        return None;
    }
    let error = Printable::new(&undecodable.error).at_most(SHORT);
    let rest = if count == REPORTED { "; further objects are counted, and reported at the end" } else { "" };
    Some(match &undecodable.key {
        Some(key) => format!("{place}: {}: {error}{rest}", Printable::new(key).at_most(SHORT)),
        None => format!("{place}: an object without a readable name: {error}{rest}"),
    })
}

/// Reports at the end how many of `count` were not reported one by one.
pub(crate) fn report_rest(count: u64, place: &dyn Display) {
    if let Some(rest @ 1..) = count.checked_sub(REPORTED) {
        messages::print(format_args!("{place}: {rest} more objects could not be decoded"));
    }
}
