//! The header `Warning` (RFC 7234, section 5.5), by which an API server tells what it does not refuse.

use ureq::http::Response;

/// The most warnings of one response.
const MOST: usize = 32;
/// The characters of one at the most.
const LONGEST: usize = 4096;

/// The texts of a response's warnings. Those with another code than 299 are about caches, and are left out, as is what
/// cannot be read.
pub(super) fn of<B>(response: &Response<B>) -> Vec<String> {
    let values = response.headers().get_all("warning").iter();
    let mut texts = Vec::new();
    for value in values {
        let value = String::from_utf8_lossy(value.as_bytes());
        let mut rest = &*value;
        while let Some((text, left)) = next(rest) {
            texts.extend(text);
            rest = left;
        }
    }
    texts.truncate(MOST);
    texts
}

/// The next warning of a value, and what follows it: `299 agent "text" "date", …`. The text is `None` if the code is
/// another one.
fn next(value: &str) -> Option<(Option<String>, &str)> {
    let value = value.trim_start_matches([' ', '\t', ',']);
    let (code, rest) = value.split_once(' ')?;
    let (_agent, rest) = rest.trim_start().split_once(' ')?;
    let (text, rest) = quoted(rest.trim_start())?;
    let rest = rest.trim_start();
    let rest = quoted(rest).map_or(rest, |(_date, rest)| rest.trim_start());
    let is_told = code == "299" && !text.is_empty();
    (rest.is_empty() || rest.starts_with(',')).then(|| (is_told.then_some(text), rest))
}

/// The text of a quoted string, and what follows it.
fn quoted(value: &str) -> Option<(String, &str)> {
    let (mut text, mut chars) = (String::new(), value.strip_prefix('"')?.chars());
    loop {
        match chars.next()? {
            '"' => return Some((text.chars().take(LONGEST).collect(), chars.as_str())),
            '\\' => text.push(chars.next()?),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Vec<String> {
        let response = values.iter().fold(Response::builder(), |response, value| response.header("Warning", *value));
        of(&response.body(()).unwrap())
    }

    #[test]
    fn each_warning_of_each_header_is_read() {
        let date = r#"299 - "old" "Wed, 21 Oct 2015 07:28:00 GMT", 299 kube "a, \"b\" \\ c""#;
        assert_eq!(
            texts(&[r#"299 - "unknown field \"spec.x\"""#, date]),
            [r#"unknown field "spec.x""#, "old", r#"a, "b" \ c"#]
        );
    }

    #[test]
    fn what_is_no_warning_of_a_server_is_left_out() {
        assert_eq!(texts(&[r#"110 - "stale", 299 - "told""#, r#"299 - """#, "299", "", r#"299 - "open"#]), ["told"]);
        assert_eq!(texts(&[r#"299 - "a" junk, 299 - "b""#, r#"299 - "c""#]), ["c"]);
        assert_eq!(texts(&["299 - \"x\"; DROP", ",,, 299  -  \"d\" ,"]), ["d"]);
        let many = [r#"299 - "x""#; 100];
        assert_eq!(texts(&many).len(), MOST);
    }
}
