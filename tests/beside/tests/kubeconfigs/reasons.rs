//! Why the programs differ, where they do. A reason that begins with `stricter` makes a mistake known, or keeps something
//! from being sent.

use crate::kubeconfigs::rows::Row;
use crate::kubeconfigs::seen::Outcome::{Asks, Breaks, Refuses};
use crate::kubeconfigs::seen::{Outcome, Part};

/// Why a part differs in each row that has one of these choices.
pub(super) struct Reason {
    part: Part,
    /// What kubectl and the command do, if the part is the outcome.
    outcomes: Option<(Outcome, Outcome)>,
    choices: &'static [&'static str],
    pub(super) why: &'static str,
}

impl Reason {
    const fn outcome(kubectl: Outcome, ours: Outcome, choices: &'static [&'static str], why: &'static str) -> Self {
        Self { part: Part::Outcome, outcomes: Some((kubectl, ours)), choices, why }
    }

    const fn part(part: Part, choices: &'static [&'static str], why: &'static str) -> Self {
        Self { part, outcomes: None, choices, why }
    }

    pub(super) fn explains(&self, row: &Row, part: Part, outcomes: (Outcome, Outcome)) -> bool {
        let are_those = self.outcomes.is_none_or(|expected| expected == outcomes);
        self.part == part && are_those && self.choices.iter().any(|choice| row.has(choice))
    }
}

pub(super) const REASONS: &[Reason] = &[
    Reason::outcome(
        Refuses,
        Asks,
        &[
            "no credential",
            "empty token",
            "null token",
            "password without a name",
            "client key without a certificate",
            "another user without a credential",
            "a context of an unknown user",
            "a context without a user",
            "no users",
            "two files, one user in parts",
        ],
        "kubectl asks at the terminal for a name and a password; listwatch is anonymous, as client-go",
    ),
    Reason::outcome(
        Refuses,
        Breaks,
        &["no credential"],
        "kubectl asks for a name and a password before it finds the server untrusted",
    ),
    Reason::outcome(
        Refuses,
        Asks,
        &[
            "another user that is broken",
            "another cluster that is broken",
            "plugin that is broken, and token",
            "provider gcp and token",
            "extensions that are no list",
            "no compression, as text",
        ],
        "entries that are not used are not checked",
    ),
    Reason::outcome(
        Refuses,
        Asks,
        &[
            "token that is a number",
            "namespace that is a number",
            "namespace that is true",
            "insecure, as text",
            "plugin with a variable that is a number",
        ],
        "a scalar is the text that it is written as, with or without quotes: no token loses its zeros",
    ),
    Reason::outcome(Refuses, Asks, &["CA data with blanks"], "base64 may have blanks"),
    Reason::outcome(
        Refuses,
        Asks,
        &["token with a line's end", "plugin whose token has a line's end"],
        "the white space around a token is not sent; a header could not hold a line's end",
    ),
    Reason::outcome(
        Refuses,
        Asks,
        &["OpenID token without an issuer"],
        "a token that is valid needs no issuer, because listwatch renews none",
    ),
    Reason::outcome(
        Refuses,
        Asks,
        &["SOCKS with names", "proxy without a scheme", "proxy by name without a scheme"],
        "`proxy-url` may be what both programs take from $HTTPS_PROXY",
    ),
    Reason::outcome(Refuses, Asks, &["HOST:PORT and a path"], "a path may be behind HOST:PORT, too"),
    Reason::outcome(Refuses, Asks, &["a YAML directive"], "YAML 1.2 is read, too"),
    Reason::outcome(
        Refuses,
        Asks,
        &["plugin without a mode"],
        "v1 has the default of v1beta1: a plugin may ask if it can",
    ),
    Reason::outcome(
        Asks,
        Refuses,
        &["a query", "a path and a query", "a fragment"],
        "stricter: kubectl drops a query and a fragment without a word; both may be credentials",
    ),
    Reason::outcome(
        Asks,
        Refuses,
        &["a name and a password"],
        "stricter: messages and recordings show the address, so it must not hold a password",
    ),
    Reason::outcome(
        Asks,
        Refuses,
        &["a colon without a port"],
        "stricter: an empty port is a slip, which kubectl takes for 443",
    ),
    Reason::outcome(
        Asks,
        Refuses,
        &["HTTPS_PROXY of garbage"],
        "stricter: Go speaks HTTP with a proxy whose scheme it does not know",
    ),
    Reason::outcome(
        Asks,
        Refuses,
        &["plugin with a name with `=`"],
        "stricter: such a variable sets another one than it names",
    ),
    Reason::outcome(
        Breaks,
        Refuses,
        &["CA file that is empty"],
        "stricter: kubectl trusts the system's authorities if the file is empty",
    ),
    Reason::outcome(
        Breaks,
        Refuses,
        &["no host", "tls-server-name that is none"],
        "stricter: a name that no certificate has is refused before anything is sent",
    ),
    Reason::outcome(
        Breaks,
        Refuses,
        &["namespace that is dots", "namespace with a slash"],
        "stricter: the namespace is checked before the discovery, not behind it",
    ),
    Reason::outcome(
        Asks,
        Breaks,
        &["insecure"],
        "stricter: `insecure-skip-tls-verify` is about the server, and kubectl does not check a proxy either",
    ),
    Reason::outcome(Asks, Breaks, &["P-521"], "ring does not verify ECDSA with SHA-512; the error says which to use"),
    Reason::outcome(
        Breaks,
        Asks,
        &["HTTPS proxy"],
        "kubectl expects `tls-server-name` in the certificate of the proxy, too",
    ),
    Reason::part(
        Part::Path,
        &["no namespace", "empty namespace", "null namespace"],
        "`watch` follows all namespaces if the context names none, and says so; kubectl takes `default`",
    ),
    Reason::part(Part::Path, &["an encoded path"], "kubectl decodes `%2F`, and so asks for another path"),
    Reason::part(Part::Path, &["namespace with a query"], "the same path: more of it is percent-encoded"),
    Reason::part(
        Part::Proxy,
        &["plain HTTP", "HOST:PORT of plain HTTP", "HTTP without a port"],
        "a proxy makes a tunnel for plain HTTP, too, so that it neither stores nor changes a watch",
    ),
    Reason::part(Part::Proxy, &["IPv6 with a zone"], "a zone is not decoded; no certificate names one, so both fail"),
    Reason::part(Part::Authorization, &["token with blanks around"], "the white space around a token is not sent"),
];
