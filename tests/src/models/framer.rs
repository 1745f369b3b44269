//! A framer that has the whole body at hand.

use listwatch_core::framing::{Frame, Framing};
use serde_json::Deserializer;
use serde_json::value::RawValue;

/// The frames of `body`, and whether it may end where it does; `None` for values and lists that are not well-formed,
/// about which nothing is promised but that they do no harm.
#[must_use]
pub fn divide(framing: Framing, limit: usize, body: &[u8]) -> Option<(Vec<Frame<'_>>, bool)> {
    match framing {
        Framing::Values => Some((values(limit, str::from_utf8(body).ok()?)?, true)),
        Framing::List => list(limit, str::from_utf8(body).ok()?, &["items"]),
        Framing::Table => list(limit, str::from_utf8(body).ok()?, &["items", "rows"]),
    }
}

fn values(limit: usize, body: &str) -> Option<Vec<Frame<'_>>> {
    let texts = Deserializer::from_str(body).into_iter().map(|text| text.map(RawValue::get));
    let texts: Vec<&str> = texts.collect::<Result<_, _>>().ok()?;
    let structured = texts.iter().all(|text| text.starts_with(['{', '[']));
    structured.then(|| texts.iter().map(|text| limited(limit, text.len(), Frame::Value(text.as_bytes()))).collect())
}

/// A field is as long as its name, its value and what is between them. Without items it is no list, nor with items that
/// are neither an array nor null, with items twice, or under a name with escapes.
fn list<'b>(limit: usize, body: &'b str, names: &[&str]) -> Option<(Vec<Frame<'b>>, bool)> {
    serde_json::from_str::<&RawValue>(body).ok().filter(|list| list.get().starts_with('{'))?;
    let (mut text, mut frames, mut items_seen) = (Text(body), Vec::new(), false);
    text.pass('{');
    while !text.pass('}') {
        text.pass(',');
        text.skip_space();
        let start = text.0.len();
        let quoted = text.value()?;
        text.pass(':');
        text.skip_space();
        let before_value = start - text.0.len();
        let is_items = names.contains(&&quoted[1..quoted.len() - 1]);
        let is_named = serde_json::from_str::<String>(quoted).is_ok_and(|name| names.contains(&&*name));
        if is_named && (items_seen || !is_items) {
            frames.push(Frame::NotAList);
            return Some((frames, false));
        }
        if is_items && text.pass('[') {
            items_seen = true;
            let frame = if quoted == "\"rows\"" { Frame::Row } else { Frame::Item };
            items(limit, &mut text, &mut frames, frame)?;
            continue;
        }
        let value = text.value()?;
        let len = before_value + value.len();
        if is_items {
            if value != "null" {
                frames.push(Frame::NotAList);
                return Some((frames, false));
            }
            items_seen = true;
        }
        let name = &quoted[1..quoted.len() - 1];
        frames.push(limited(limit, len, Frame::Field { name: name.as_bytes(), value: value.as_bytes() }));
    }
    frames.push(if items_seen { Frame::ListEnd } else { Frame::NotAList });
    Some((frames, items_seen))
}

fn items<'b>(
    limit: usize,
    text: &mut Text<'b>,
    frames: &mut Vec<Frame<'b>>,
    frame: fn(&'b [u8]) -> Frame<'b>,
) -> Option<()> {
    while !text.pass(']') {
        text.pass(',');
        let item = text.value()?;
        frames.push(limited(limit, item.len(), frame(item.as_bytes())));
    }
    Some(())
}

fn limited(limit: usize, len: usize, frame: Frame<'_>) -> Frame<'_> {
    if len > limit { Frame::TooLong } else { frame }
}

/// The rest of a text that is known to be JSON.
struct Text<'b>(&'b str);

impl<'b> Text<'b> {
    fn skip_space(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Goes on behind `mark`, if that is what comes next.
    fn pass(&mut self, mark: char) -> bool {
        self.skip_space();
        let rest = self.0.strip_prefix(mark);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Goes on behind a value.
    fn value(&mut self) -> Option<&'b str> {
        let mut values = Deserializer::from_str(self.0).into_iter::<&'b RawValue>();
        let value = values.next()?.ok()?;
        self.0 = &self.0[values.byte_offset()..];
        Some(value.get())
    }
}
