//! A source file as words and marks, and which of them are not for tests alone.

/// A word or a mark, and the line that it stands in, counted from one.
pub(crate) type Token<'a> = (usize, &'a str);

/// What opens an item; everything else that an attribute stands before is a statement, a field, a variant or an arm.
const ITEMS: &[&str] = &[
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "union",
    "unsafe",
    "use",
];

/// The tokens of `source` without the items, statements and fields that stand under `#[cfg(test)]`.
pub(crate) fn production(source: &str) -> Vec<Token<'_>> {
    let tokens = tokens(source);
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if opens(&tokens[at..], &["#", "[", "cfg", "(", "test", ")", "]"]) {
            at = item_end(&tokens, at);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// Behind the brace, bracket or parenthesis that closes the one at `open`.
pub(crate) fn closed(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, (_, token)) in tokens[open..].iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return open + offset + 1;
        }
    }
    tokens.len()
}

pub(crate) fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

fn opens(tokens: &[Token<'_>], words: &[&str]) -> bool {
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|((_, token), word)| token == word)
}

/// Behind the item whose attributes begin at `at`.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while opens(&tokens[at..], &["#", "["]) {
        at = closed(tokens, at + 1);
    }
    if opens(&tokens[at..], &["pub", "("]) {
        at = closed(tokens, at + 1);
    } else if opens(&tokens[at..], &["pub"]) {
        at += 1;
    }
    let is_use = opens(&tokens[at..], &["use"]);
    let is_item = tokens.get(at).is_some_and(|(_, word)| ITEMS.contains(word));
    while let Some((_, token)) = tokens.get(at) {
        match *token {
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            "}" => return at,
            "{" if !is_use => return closed(tokens, at),
            "(" | "[" | "{" => at = closed(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// Words, `::` and single marks, each with its line; without comments, strings and characters.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let (len, is_token) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |end| end + 2), false),
            '"' => (quoted(rest), false),
            'r' if raw_hashes(rest).is_some() => (raw(rest), false),
            '\'' => (character(rest), false),
            ':' if rest.starts_with("::") => (2, true),
            _ if is_word(rest) => (rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()), true),
            _ => (first.len_utf8(), !first.is_whitespace()),
        };
        let (token, after) = rest.split_at(len);
        if is_token {
            found.push((line, token));
        }
        line += token.matches('\n').count();
        rest = after;
    }
    found
}

/// The length of the string literal that `text` begins with.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    let end = text[1..].find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// With how many `#` the raw string opens that `text` begins with.
fn raw_hashes(text: &str) -> Option<usize> {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    text[1 + hashes..].starts_with('"').then_some(hashes)
}

fn raw(text: &str) -> usize {
    let hashes = raw_hashes(text).unwrap_or(0);
    let close = format!("\"{}", "#".repeat(hashes));
    let body = hashes + 2;
    text[body..].find(&close).map_or(text.len(), |end| body + end + close.len())
}

/// The length of the character literal that `text` begins with, or of a lifetime's tick.
fn character(text: &str) -> usize {
    let escaped = text.starts_with("'\\");
    let content = text[1..].chars().take(if escaped { 2 } else { 1 }).map(char::len_utf8).sum::<usize>();
    let closed = text[1 + content..].find('\'').filter(|close| escaped || *close == 0);
    closed.map_or(1, |close| content + close + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> String {
        production(source).into_iter().map(|(_, token)| token).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_for_tests_alone_is_left_out() {
        assert_eq!(words("a; #[cfg(test)] mod tests; b"), "a ; b");
        assert_eq!(words("a; #[cfg(test)] #[allow(x)] pub(crate) mod tests { fn f() {} } b"), "a ; b");
        assert_eq!(words("#[cfg(test)] use x::{y, z}; b"), "b");
        assert_eq!(words("#[cfg(test)] fn f(x: [u8; 4]) -> u8 { x } b"), "b");
        assert_eq!(words("struct S { #[cfg(test)] x: u8, y: u8 }"), "struct S { y : u8 }");
        assert_eq!(words("{ #[cfg(test)] X.set(f(1, 2)); y }"), "{ y }");
        assert_eq!(words("#[cfg(test)] thread_local! { static X: u8 = 1; } b"), "b");
        assert_eq!(words("#[cfg(any(test, unix))] mod m;"), "# [ cfg ( any ( test , unix ) ) ] mod m ;");
    }
}
