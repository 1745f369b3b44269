//! Objects that cannot be decoded: the first ones are reported, and the others are counted.

use crate::output::messages;
use listwatch::decode::DecodeError;
use listwatch::informers::StreamError;
use listwatch::text::Counted;
use std::fmt::Display;

/// The number of objects that are reported one by one.
const REPORTED: u64 = 10;

/// The message about the object that is the `count`th of them in `place`; `None` if enough of them are reported.
pub(crate) fn message(undecodable: &DecodeError, count: u64, place: &dyn Display) -> Option<String> {
    let so_far = Counted(count, "object so far", "objects so far");
    let rest = if count == REPORTED { "; further objects are counted, and reported at the end" } else { "" };
    let error = StreamError::Undecodable(undecodable);
    (count <= REPORTED).then(|| format!("{place}: {error}; {so_far}{rest}"))
}

/// Reports at the end how many of `count` were not reported one by one.
pub(crate) fn report_rest(count: u64, place: &dyn Display) {
    if let Some(rest @ 1..) = count.checked_sub(REPORTED) {
        let rest = Counted(rest, "more object", "more objects");
        messages::print(format_args!("{place}: {rest} could not be decoded"));
    }
}
