//! How long files and functions are, in lines.

use crate::layering::tokens::{Token, closed, is_word};

/// What one file holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Lines that hold more than a comment.
    pub(crate) code: usize,
    /// The functions that have a body: each one's name, its line, and its lines from `fn` to the last brace.
    pub(crate) functions: Vec<(String, usize, usize)>,
}

impl Sizes {
    pub(crate) fn of(tokens: &[Token<'_>]) -> Self {
        let mut lines: Vec<usize> = tokens.iter().map(|(line, _)| *line).collect();
        lines.dedup();
        let functions = (0..tokens.len()).filter_map(|at| function(tokens, at)).collect();
        Self { code: lines.len(), functions }
    }
}

/// The function whose `fn` stands at `at`.
fn function(tokens: &[Token<'_>], at: usize) -> Option<(String, usize, usize)> {
    let [(line, "fn"), (_, name), ..] = tokens[at..] else { return None };
    let mut body = at + 2;
    while is_word(name) {
        match tokens.get(body)?.1 {
            ";" => return None,
            "(" | "[" => body = closed(tokens, body),
            "{" => {
                let (last, _) = tokens[closed(tokens, body) - 1];
                return Some((name.to_owned(), line, last + 1 - line));
            }
            _ => body += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layering::tokens::production;

    #[test]
    fn functions_are_measured_from_their_name_to_their_last_brace() {
        let source = "
            /// Text.
            fn one(x: [u8; 4]) -> fn(u8) {}

            trait T { fn declared(&self) -> [u8; 2]; }
            fn outer()
            where
                T: Copy,
            {
                fn inner() {
                }
            }
            #[cfg(test)]
            fn not_counted() {}
        ";
        let sizes = Sizes::of(&production(source));
        let function = |name: &str, line, lines| (name.to_owned(), line, lines);
        assert_eq!(sizes.functions, [function("one", 3, 1), function("outer", 6, 7), function("inner", 10, 2)]);
        assert_eq!(sizes.code, 9);
    }
}
