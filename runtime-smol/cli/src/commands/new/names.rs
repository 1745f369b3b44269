//! The names of a new operator. They have to fit Kubernetes, cargo and the program that is made.

use super::texts;
use crate::arguments::NewOptions;
use crate::error::CommandError;
use listwatch::file::kinds::guessed_plural;
use listwatch::testing::SimulatedCluster;

/// The most characters of a label of DNS, and of a domain.
const LABEL: usize = 63;
const DOMAIN: usize = 253;
/// The most characters of a kind. A server takes two more; with these, no line of the program gets too long for rustfmt.
const KIND: usize = LABEL - "List".len() - 2;

/// Words that no crate has for its name: those of Rust, and folders of cargo and names of Windows.
const WORDS: &str = "abstract alloc as async aux await become box break build com1 con const continue core crate deps do \
    dyn else enum examples extern false final fn for gen if impl in incremental let loop lpt1 macro match mod move mut nul \
    override priv prn proc_macro pub ref return self static std struct super test trait true try type typeof unsafe unsized \
    use virtual where while yield";
/// Names that the made program uses beside its own.
const CRATES: &str = "controller definition listwatch listwatch_explore listwatch_stand_ins schemars serde serde_json";
/// Words that are no text in YAML.
const YAML: &str = "false n no null off on true y yes";
/// Kinds that an API server answers with, beside its resources.
const ANSWERS: &str = "DeleteOptions PartialObjectMetadata Status Table WatchEvent";

/// Names that fit.
#[derive(Debug)]
pub(super) struct Names {
    /// Of the package, the image, the namespace and the lease.
    pub(super) name: String,
    /// Of the library: the name with underscores.
    pub(super) library: String,
    pub(super) kind: String,
    pub(super) singular: String,
    pub(super) plural: String,
    pub(super) group: String,
}

impl Names {
    /// Those that the arguments give.
    ///
    /// # Errors
    /// The first one that does not fit, and why.
    pub(super) fn of(options: &NewOptions) -> Result<Self, CommandError> {
        let NewOptions { name, kind, group, plural, .. } = options;
        let refused = |option, name: &str| {
            let name = name.to_owned();
            move |why: String| CommandError::Name(option, name, why)
        };
        check_name(name).map_err(refused("NAME", name))?;
        let kind = kind.clone().unwrap_or_else(|| kind_of(name));
        check_kind(&kind).map_err(refused("--kind", &kind))?;
        let plural = plural.clone().unwrap_or_else(|| guessed_plural(&kind));
        let singular = kind.to_ascii_lowercase();
        check_plural(&plural).map_err(refused("--plural", &plural))?;
        check_group(group, &plural).map_err(refused("--group", group))?;
        check_unknown(&singular, &plural).map_err(refused("--kind", &kind))?;
        Ok(Self { name: name.clone(), library: name.replace('-', "_"), kind, singular, plural, group: group.clone() })
    }
}

/// The kind in the name of its operator.
fn kind_of(name: &str) -> String {
    let ends = ["-operator", "-controller"];
    let stem = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let capital = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    stem.split('-').map(capital).collect()
}

fn check_name(name: &str) -> Result<(), String> {
    if !is_label(name) || !begins_with_letter(name) || name.contains("--") {
        let why =
            "the name of an operator has small letters, digits and single dashes, 63 at most, and begins with a letter";
        return Err(why.to_owned());
    }
    let library = name.replace('-', "_");
    if has(WORDS, &library) {
        return Err("no package has a name that Rust or cargo uses".to_owned());
    }
    if has(CRATES, &library) {
        return Err("the program that is made uses this name otherwise".to_owned());
    }
    if name == "default" || name.starts_with("kube-") {
        return Err("a namespace of Kubernetes has such a name".to_owned());
    }
    Ok(())
}

fn check_kind(kind: &str) -> Result<(), String> {
    let is_word = kind.starts_with(|first: char| first.is_ascii_uppercase())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && kind.len() <= KIND;
    if !is_word {
        return Err(format!("a kind has letters and digits in CamelCase, {KIND} at most, such as Backup"));
    }
    if kind.ends_with("List") {
        return Err("so ends the kind of a list".to_owned());
    }
    if has(ANSWERS, kind) || has(YAML, &kind.to_ascii_lowercase()) {
        return Err("Kubernetes or YAML reads this word otherwise".to_owned());
    }
    let types = ["", "Spec", "Status"].map(|end| format!("{kind}{end}"));
    match types.into_iter().find(|type_| kind == "Self" || texts::has_word(type_)) {
        Some(type_) => Err(format!("the program that is made uses {type_} otherwise")),
        None => Ok(()),
    }
}

fn check_plural(plural: &str) -> Result<(), String> {
    if is_label(plural) && begins_with_letter(plural) && !has(YAML, plural) {
        return Ok(());
    }
    Err("a plural has small letters, digits and dashes, 63 at most, and begins with a letter".to_owned())
}

fn check_group(group: &str, plural: &str) -> Result<(), String> {
    let is_domain = group.contains('.') && group.split('.').all(is_label);
    if !is_domain || plural.len() + 1 + group.len() > DOMAIN {
        return Err(format!(
            "a group is a domain with a dot, such as example.com, {DOMAIN} characters with the plural"
        ));
    }
    if ["k8s.io", "kubernetes.io"].iter().any(|own| group == *own || group.ends_with(&format!(".{own}"))) {
        return Err("the groups of Kubernetes are not for others; take a domain of yours".to_owned());
    }
    Ok(())
}

/// Of two kinds of one name, kubectl takes the one of Kubernetes.
fn check_unknown(singular: &str, plural: &str) -> Result<(), String> {
    let kinds = SimulatedCluster::new().kinds();
    let known = kinds.iter().find(|known| {
        let names = [&known.kind.to_ascii_lowercase(), &known.plural];
        names.into_iter().any(|name| name == singular || name == plural)
    });
    known.map_or(Ok(()), |known| Err(format!("Kubernetes has the kind {} itself", known.kind)))
}

fn has(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// A label of DNS (RFC 1123).
fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL).contains(&text.len()) && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn begins_with_letter(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str, kind: Option<&str>, group: &str, plural: Option<&str>) -> Result<Names, CommandError> {
        let [kind, plural] = [kind, plural].map(|text| text.map(str::to_owned));
        let (name, group) = (name.to_owned(), group.to_owned());
        Names::of(&NewOptions { name, kind, group, plural, path: ".".into(), listwatch: None })
    }

    #[test]
    fn a_kind_follows_from_the_name_and_a_plural_from_the_kind() {
        for (name, kind, plural) in [
            ("my-operator", "My", "mies"),
            ("backup-controller", "Backup", "backups"),
            ("web-2-shop", "Web2Shop", "web2shops"),
            ("operator", "Operator", "operators"),
        ] {
            let names = names(name, None, "example.com", None).unwrap();
            assert_eq!((&*names.kind, &*names.plural), (kind, plural), "{name}");
        }
        let sheep = names("a", Some("Sheep"), "1password.com", Some("sheep")).unwrap();
        assert_eq!((&*sheep.library, &*sheep.singular, &*sheep.plural), ("a", "sheep", "sheep"));
        let longest = format!("A{}", "b".repeat(KIND - 1));
        assert!(names(&"n".repeat(LABEL), Some(&longest), "example.com", None).is_ok());
        assert!(names("my-self", Some("Widget"), "example.com", None).is_ok(), "the words of the template itself");
    }

    #[test]
    fn names_that_do_not_fit_are_refused() {
        let long = "n".repeat(LABEL + 1);
        for name in [
            "",
            ".",
            "..",
            "../up",
            "a/b",
            "/tmp/a",
            "a b",
            "A",
            "1a",
            "-a",
            "a-",
            "a--b",
            "a_b",
            "a.b",
            "ä",
            "a\u{1b}[2J",
            "fn",
            "self",
            "test",
            "core",
            "proc-macro",
            "deps",
            "con",
            "serde",
            "serde-json",
            "listwatch",
            "controller",
            "listwatch-explore",
            "kube-system",
            "default",
            &long,
        ] {
            let error = names(name, Some("Backup"), "example.com", None).expect_err(name);
            assert!(matches!(error, CommandError::Name("NAME", ..)) && error.is_wrong_usage(), "{name}: {error}");
        }
        let long = format!("A{}", "b".repeat(KIND));
        for kind in [
            "",
            "backup",
            "Back-Up",
            "Back_Up",
            "Ä",
            "BackupList",
            "Status",
            "Self",
            "Deployment",
            "ConfigMap",
            "Pod",
            "Pods",
            "Option",
            "Result",
            "String",
            "Value",
            "Context",
            "World",
            "Controller",
            "Found",
            "Some",
            "Ok",
            "Kind",
            "No",
            "Y",
            "Null",
            "Table",
            "configmap",
            "NetworkPolicy",
            "NETWORKPOLICY",
            &long,
        ] {
            let error = names("a", Some(kind), "example.com", None).expect_err(kind);
            assert!(matches!(error, CommandError::Name("--kind", ..)), "{kind}: {error}");
        }
        let long = format!("{}com", "a.".repeat(125));
        for group in ["", "example", "example.", ".com", "Example.com", "a..b", "k8s.io", "x.k8s.io", "a/b.c", &long] {
            let error = names("a", Some("Backup"), group, None).expect_err(group);
            assert!(matches!(error, CommandError::Name("--group", ..)), "{group}: {error}");
        }
        for plural in ["", "Backups", "1s", "a.b", "no", "a/b"] {
            let error = names("a", Some("Backup"), "example.com", Some(plural)).expect_err(plural);
            assert!(matches!(error, CommandError::Name("--plural", ..)), "{plural}: {error}");
        }
        let error = names("a", Some("Backup"), "example.com", Some("pods")).expect_err("taken");
        assert_eq!(error.to_string(), "--kind Backup: Kubernetes has the kind Pod itself");
    }
}
