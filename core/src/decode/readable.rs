use alloc::string::String;

/// How many characters are kept.
const MOST: usize = 200;

/// The beginning of a body's text, without markup and control characters, on one line. Empty if the body is no text.
pub(super) fn readable(body: &[u8]) -> String {
    let (mut said, mut length, mut gap) = (String::new(), 0, false);
    let mut rest = if body.contains(&0) { "" } else { text(body) };
    while let Some(next) = rest.chars().next() {
        let after = after_markup(rest);
        rest = after.unwrap_or_else(|| &rest[next.len_utf8()..]);
        if after.is_some() || next.is_whitespace() || next.is_control() {
            gap = length > 0;
            continue;
        }
        if length >= MOST {
            said.push('…');
            break;
        }
        if core::mem::take(&mut gap) {
            said.push(' ');
        }
        said.push(next);
        length += 1;
    }
    said
}

/// The longest prefix that is UTF-8.
fn text(body: &[u8]) -> &str {
    let valid = core::str::from_utf8(body).map_or_else(|error| error.valid_up_to(), str::len);
    core::str::from_utf8(&body[..valid]).unwrap_or_default()
}

/// The text behind the tag or comment that it begins with; `None` where it begins with neither.
fn after_markup(text: &str) -> Option<&str> {
    let tag = text.strip_prefix('<')?;
    let is_named = |name: &str| tag.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name));
    if tag.starts_with("!--") {
        return tag.split_once("-->").map(|(_, after)| after);
    }
    if is_named("style") || is_named("script") {
        return tag.find("</").map(|end| &tag[end..]);
    }
    let is_tag = tag.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '/' | '!' | '?'));
    tag.split_once('>').filter(|_| is_tag).map(|(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_without_its_markup() {
        let page =
            b"<!DOCTYPE html>\r\n<html><head><title>403 Forbidden</title><STYLE type=x>b { top: 0 }</STYLE></head>
            <!-- a > b --><body>\x1b[1m<h1>No entry</h1><p>Ask   <a href='x'>Ada</a>, if 1 < 2</p>\n</body></html>\n";
        assert_eq!(readable(page), "403 Forbidden [1m No entry Ask Ada , if 1 < 2");
    }

    #[test]
    fn a_long_text_is_cut_and_what_is_none_is_left_out() {
        let long = readable("ä b ".repeat(1_000_000).as_bytes());
        assert_eq!((long.chars().filter(|char| *char != ' ').count(), long.ends_with('…')), (MOST + 1, true));
        let unclosed = readable("<a".repeat(1_000_000).as_bytes());
        assert_eq!(unclosed.chars().count(), MOST + 1);
        for body in [&b""[..], b" \r\n", b"\x1f\x8b\x08abc", b"k8s\0\n\x0cStatus", b"\xff\xfea", b"<html>"] {
            assert_eq!(readable(body), "", "{body:?}");
        }
        assert_eq!(readable(b"caf\xe9"), "caf", "up to where it is no UTF-8");
    }
}
