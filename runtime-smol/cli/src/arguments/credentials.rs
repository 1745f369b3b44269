//! Credentials that were typed where none belong, such as `https://NAME:PASSWORD@HOST` in place of a file.

use listwatch::text::Printable;
use std::sync::LazyLock;

const REPLACEMENT: &str = "[redacted]@";

/// The credentials among this process's arguments, in the forms that messages quote, each up to its `@`.
static TYPED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    arguments.iter().flat_map(|argument| credentials(argument)).flat_map(quoted).collect()
});

/// Whether a text has the form `NAME:PASSWORD@HOST` or `SCHEME://TOKEN@HOST`.
pub(super) fn has_credential(text: &str) -> bool {
    !credentials(text).is_empty()
}

/// Replaces the credentials among this process's arguments in a message that may quote them.
pub(crate) fn hide_credentials(message: String) -> String {
    TYPED.iter().fold(message, |message, credential| match message.contains(credential) {
        true => message.replace(credential, REPLACEMENT),
        false => message,
    })
}

/// The parts of an argument that may be credentials, each up to its `@`, the longest first. The password is one of its
/// own, because an option's name may stand before the user's.
fn credentials(argument: &str) -> Vec<&str> {
    let value = argument.split_once("://").map(|(_scheme, rest)| rest);
    let start = value.map_or(0, |value| argument.len() - value.len());
    let ends = argument.rmatch_indices('@').map(|(at, _)| at + 1);
    let parts = ends.filter(|end| *end > start + 1).flat_map(|end| {
        let user = &argument[start..end];
        let password = user.find(':').map(|at| &user[at..]);
        let is_whole = value.is_some() || password.is_some();
        [is_whole.then_some(user), password].into_iter().flatten()
    });
    parts.filter(|part| *part != ":@").collect()
}

/// A text as it is, as `Debug` quotes it, and as [`Printable`] shows it.
fn quoted(text: &str) -> [String; 3] {
    [text.to_owned(), text.escape_debug().to_string(), Printable::new(text).at_most(text.len()).to_string()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_what_stands_before_an_at_sign() {
        for (argument, expected) in [
            ("https://tok:pw@h/x", &["tok:pw@", ":pw@"][..]),
            ("--kubeconfig=tok:pw@h", &["--kubeconfig=tok:pw@", ":pw@"]),
            ("https://token@h", &["token@"]),
            ("tok:p@w@h", &["tok:p@w@", ":p@w@", "tok:p@", ":p@"]),
            ("https://h:1/x", &[]),
            ("me@cluster", &[]),
            ("arn:aws:eks:x", &[]),
            ("https://@h", &[]),
        ] {
            assert_eq!(credentials(argument), expected, "{argument}");
            assert_eq!(has_credential(argument), !expected.is_empty());
        }
    }
}
