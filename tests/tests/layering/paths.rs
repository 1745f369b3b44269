//! Reads from a source file which paths inside its own crate it names: `use` declarations and inline paths alike.

use crate::layering::tokens::{Token, closed, is_word, tokens};

/// A path that a file names, from the root of its crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Where, counted from one.
    pub(crate) line: usize,
    /// Its segments; the last is `*` for everything.
    pub(crate) path: Vec<String>,
}

/// A path as a file names it, however it begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) named: Named,
    /// The module that it stands in.
    pub(crate) inside: Vec<String>,
    /// What it is called from then on, if it is a `use`.
    pub(crate) alias: Option<String>,
    /// It begins with `crate`, `super` or `self`; if not, it may as well lead into another crate.
    pub(crate) is_rooted: bool,
}

/// What `source` names by `crate::…` and `super::…`, being the module `file` itself.
pub(crate) fn named(file: &[String], source: &str) -> Vec<Named> {
    mentions(file, &tokens(source)).into_iter().filter(|found| found.is_rooted).map(|found| found.named).collect()
}

/// Every path of two segments or more, and every `use`, in `tokens`, which are the module `file`.
pub(crate) fn mentions(file: &[String], tokens: &[Token<'_>]) -> Vec<Mention> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].1 {
            "{" => open.push(module_before(&tokens[..at])),
            "}" => drop(open.pop()),
            // Where something can be seen is no use of it.
            "pub" if follows(tokens, at, "(") => {
                at = closed(tokens, at + 1);
                continue;
            }
            "use" if !follows(tokens, at, "<") => {
                let start = at + 1 + usize::from(follows(tokens, at, "::"));
                at = path(tokens, start, inside(file, &open), true, &mut found);
                continue;
            }
            word if begins_a_path(tokens, at, word) => {
                at = path(tokens, at, inside(file, &open), false, &mut found);
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

/// Notes the path that begins at `at`, and returns where it ends.
fn path(tokens: &[Token<'_>], at: usize, inside: Vec<String>, is_use: bool, found: &mut Vec<Mention>) -> usize {
    let (line, first) = tokens[at];
    let is_rooted = matches!(first, "crate" | "super" | "self") && follows(tokens, at, "::");
    let (root, start) = match first {
        "crate" if is_rooted => (Vec::new(), at + 2),
        "super" if is_rooted => (parent(&inside), at + 2),
        "self" if is_rooted => (inside.clone(), at + 2),
        _ => (inside.clone(), at),
    };
    tree(tokens, start, root, &mut |path, alias| {
        let alias = is_use.then(|| alias.or_else(|| path.last()).cloned().unwrap_or_default());
        found.push(Mention { named: Named { line, path: path.to_vec() }, inside: inside.clone(), alias, is_rooted });
    })
}

fn follows(tokens: &[Token<'_>], at: usize, text: &str) -> bool {
    tokens.get(at + 1).is_some_and(|(_, next)| *next == text)
}

fn begins_a_path(tokens: &[Token<'_>], at: usize, word: &str) -> bool {
    let is_first = at == 0 || !matches!(tokens[at - 1].1, "::" | ".");
    let goes_on = tokens.get(at + 2).is_some_and(|(_, next)| is_word(next));
    is_first && is_word(word) && follows(tokens, at, "::") && goes_on
}

/// The module inside of these open braces.
fn inside(file: &[String], open: &[Option<&str>]) -> Vec<String> {
    file.iter().cloned().chain(open.iter().flatten().map(|module| String::from(*module))).collect()
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
fn tree(
    tokens: &[Token<'_>],
    mut at: usize,
    mut path: Vec<String>,
    found: &mut impl FnMut(&[String], Option<&String>),
) -> usize {
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
            // The last of a group: the module itself.
            Some("self") => {}
            Some(word) if word == "*" || is_word(word) => path.push(word.to_owned()),
            _ => return at,
        }
        let goes_on = tokens.get(at + 1).is_some_and(|token| token.1 == "::")
            && tokens.get(at + 2).is_some_and(|token| token.1 != "<");
        if !goes_on {
            // Past a renaming, so that a group goes on with its next member.
            let renamed = follows(tokens, at, "as").then(|| tokens.get(at + 2)).flatten();
            found(&path, renamed.map(|(_, name)| String::from(*name)).as_ref());
            return if renamed.is_some() { at + 3 } else { at + 1 };
        }
        at += 2;
    }
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
