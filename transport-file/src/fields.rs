//! The fields of an object, found in its text without reading their values.

use listwatch_core::framing::Scanner;

/// The values of these fields of an object, as they are written; empty for one that it does not have.
///
/// `None` if the text is no object, a name is written with an escape, or one of these stands twice. Then the text has to be
/// parsed. The values are not checked.
pub(crate) fn values<'t, const N: usize>(object: &'t str, names: [&str; N]) -> Option<[&'t str; N]> {
    let (mut values, mut rest) = ([""; N], object.trim_ascii_start().strip_prefix('{')?.trim_ascii_start());
    while !rest.starts_with('}') {
        let (name, behind) = split(rest)?;
        let (value, behind) = split(behind.trim_ascii_start().strip_prefix(':')?.trim_ascii_start())?;
        let name = plain(name)?;
        let place = names.iter().position(|known| *known == name);
        if place.is_some_and(|place| !std::mem::replace(&mut values[place], value).is_empty()) {
            return None;
        }
        let behind = behind.trim_ascii_start();
        rest = behind.strip_prefix(',').map_or(behind, str::trim_ascii_start);
    }
    (rest.trim_ascii_end() == "}").then_some(values)
}

/// The text of a string without escapes.
pub(crate) fn plain(value: &str) -> Option<&str> {
    let text = value.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then_some(text)
}

/// The first value of a text, and what is behind it.
fn split(text: &str) -> Option<(&str, &str)> {
    let end = Scanner::default().end_of_value(text.as_bytes()).filter(|end| *end > 0)?;
    text.split_at_checked(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names() {
        let text = r#" { "a" : "x,}" , "b":{"a":[1,"]"]},"c":1.5,"d":null } "#;
        assert_eq!(values(text, ["a", "b", "c", "d", "e"]), Some([r#""x,}""#, r#"{"a":[1,"]"]}"#, "1.5", "null", ""]));
        assert_eq!(values("{}", ["a"]), Some([""]));
    }

    #[test]
    fn what_is_unusual_or_no_object_is_left_to_a_parser() {
        for text in [
            "",
            "[]",
            "{",
            r#"{"a"}"#,
            r#"{"a":1"#,
            r#"{"a":1,"a":2}"#,
            r#"{"\u0061":1}"#,
            r#"{"a":}"#,
            "{1:2}",
            r#"{"b":1},{"a":2}"#,
        ] {
            assert_eq!(values(text, ["a"]), None, "{text}");
        }
        assert_eq!((plain(r#""a""#), plain(r#""\n""#), plain("1")), (Some("a"), None, None));
    }
}
