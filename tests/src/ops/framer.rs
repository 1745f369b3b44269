//! A body in pieces.

use crate::models::framer::divide;
use listwatch_core::framing::{Frame, Framer, Framing};

/// Divides the body that `data` holds behind five bytes: the framing, the limit, and the lengths of three pieces, which
/// the body is cut into again and again.
///
/// # Panics
/// Where the frames depend on the pieces, are not the model's, or more than the limit is kept.
pub fn run(data: &[u8]) {
    let Some((&[framing, limit, lengths @ ..], body)) = data.split_first_chunk::<5>() else { return };
    let framing = [Framing::Values, Framing::Values, Framing::List, Framing::Table][usize::from(framing % 4)];
    let limit = if limit == u8::MAX { usize::MAX } else { limit.into() };
    let whole = frames(framing, limit, body, &[body.len() + 1]);
    assert_eq!(frames(framing, limit, body, &[1]), whole, "byte by byte");
    let lengths = lengths.map(|length| usize::from(length) + 1);
    assert_eq!(frames(framing, limit, body, &lengths), whole, "in pieces of {lengths:?}");
    if let Some((expected, complete)) = divide(framing, limit, body) {
        assert_eq!(whole, (expected.into_iter().map(show).collect(), complete), "{}", body.escape_ascii());
    }
}

/// The frames of `body` when it arrives in pieces of these lengths, and whether it was complete at its end.
fn frames(framing: Framing, limit: usize, body: &[u8], lengths: &[usize]) -> (Vec<String>, bool) {
    let (mut framer, mut buffer, mut seen) = (Framer::new(framing, limit), Vec::new(), Vec::new());
    let (mut rest, mut lengths) = (body, lengths.iter().cycle());
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(lengths.next().map_or(1, |length| *length.min(&rest.len())));
        rest = behind;
        buffer.extend_from_slice(piece);
        while let Some(frame) = framer.next_frame(&buffer) {
            seen.push(show(frame));
        }
        buffer.drain(..framer.reclaim());
        assert!(buffer.len() <= limit, "{} bytes kept", buffer.len());
    }
    (seen, framer.is_complete())
}

fn show(frame: Frame<'_>) -> String {
    match frame {
        Frame::Value(value) => format!("value {}", value.escape_ascii()),
        Frame::Item(item) => format!("item {}", item.escape_ascii()),
        Frame::Row(row) => format!("row {}", row.escape_ascii()),
        Frame::Field { name, value } => format!("{} = {}", name.escape_ascii(), value.escape_ascii()),
        other => format!("{other:?}"),
    }
}
