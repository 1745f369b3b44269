//! Reads from a source file which paths inside its own crate it names: `use` declarations and inline paths alike.

/// A path that a file names, from the root of its crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Where, counted from one.
    pub(crate) line: usize,
    /// Its segments; the last is `*` for everything.
    pub(crate) path: Vec<String>,
}

/// What `source` names by `crate::…` and `super::…`, being the module `file` itself.
pub(crate) fn named(file: &[String], source: &str) -> Vec<Named> {
    let tokens = tokens(source);
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let (line, word) = tokens[at];
        let follows = |text: &str| tokens.get(at + 1).is_some_and(|(_, next)| *next == text);
        match word {
            "{" => open.push(module_before(&tokens[..at])),
            "}" => drop(open.pop()),
            "crate" | "super" if follows("::") => {
                let mut here = file.to_vec();
                here.extend(open.iter().flatten().map(|module: &&str| String::from(*module)));
                let root = if word == "crate" { Vec::new() } else { parent(&here) };
                at = tree(&tokens, at + 2, root, &mut |path| found.push(Named { line, path }));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The names of the modules that `source` declares.
pub(crate) fn modules(source: &str) -> Vec<String> {
    let tokens = tokens(source);
    tokens.windows(2).filter(|pair| pair[0].1 == "mod").map(|pair| pair[1].1.to_owned()).collect()
}

/// The module that a brace behind these tokens opens, if it opens one.
fn module_before<'a>(tokens: &[(usize, &'a str)]) -> Option<&'a str> {
    match tokens {
        [.., (_, "mod"), (_, name)] => Some(name),
        _ => None,
    }
}

fn parent(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}

/// Follows the rest of a path, into its groups; returns where it ends.
fn tree(tokens: &[(usize, &str)], mut at: usize, mut path: Vec<String>, found: &mut impl FnMut(Vec<String>)) -> usize {
    loop {
        match tokens.get(at).map(|token| token.1) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token.1 != "}") {
                    at = if tokens[at].1 == "," { at + 1 } else { tree(tokens, at, path.clone(), found) };
                }
                return at + 1;
            }
            Some("super") => path = parent(&path),
            Some(word) if word == "*" || is_word(word) => path.push(word.to_owned()),
            _ => return at,
        }
        let goes_on = tokens.get(at + 1).is_some_and(|token| token.1 == "::")
            && tokens.get(at + 2).is_some_and(|token| token.1 != "<");
        if !goes_on {
            found(path);
            // Past a renaming, so that a group goes on with its next member.
            return if tokens.get(at + 1).is_some_and(|token| token.1 == "as") { at + 3 } else { at + 1 };
        }
        at += 2;
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

/// Words, `::` and single marks, each with its line; without comments, strings and characters.
fn tokens(source: &str) -> Vec<(usize, &str)> {
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

    fn paths(source: &str) -> Vec<String> {
        named(&["wire".into(), "frame".into()], source).into_iter().map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn every_way_to_name_a_module_is_seen() {
        assert_eq!(paths("use crate::time::Instant;"), ["time::Instant"]);
        assert_eq!(
            paths("use crate::{time, queue::{Job, WorkQueue as Q, limit::*}, a};"),
            ["time", "queue::Job", "queue::WorkQueue", "queue::limit::*", "a"]
        );
        assert_eq!(paths("pub(crate) fn f(x: &'a crate::driver::Driver<'_>) {}"), ["driver::Driver"]);
        assert_eq!(paths("let x = crate::fifo::new::<u8>();"), ["fifo::new"]);
        assert_eq!(paths("use super::request::Request;"), ["wire::request::Request"]);
        assert_eq!(paths("use super::super::queue::Job;"), ["queue::Job"]);
        assert_eq!(
            paths("mod tests { use super::super::super::queue::Job; } use super::x;"),
            ["queue::Job", "wire::x"]
        );
    }

    #[test]
    fn comments_and_literals_name_nothing() {
        let source = r##"
            // use crate::a::B;
            /* crate::a */ //! [`crate::a`]
            const X: &str = "crate::a \" crate::b"; const Y: &str = r#"crate::c "quoted" "#;
            const Z: [char; 3] = ['"', '\'', 'x']; fn f<'a>(x: &'a str) {}
        "##;
        assert_eq!(paths(source), [""; 0]);
    }

    #[test]
    fn a_path_is_found_on_its_line() {
        let found = named(&[], "//! Text.\n\nuse crate::time;\n");
        assert_eq!(found, [Named { line: 3, path: vec!["time".into()] }]);
    }

    #[test]
    fn declared_modules_are_listed() {
        assert_eq!(modules("mod time; pub(crate) mod core { }"), ["time", "core"]);
    }
}
