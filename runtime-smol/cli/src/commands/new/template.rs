//! The files of a new operator. They are a program as it stands, `widget-operator` for the kind Widget, which the workspace
//! builds and tests in place (`tests/operator`). Another one has other names in it.

use super::names::Names;
use super::texts::FILES;
use crate::error::CommandError;
use std::path::Path;

/// Where listwatch comes from.
pub(super) enum Source {
    Published,
    /// A folder on this machine: an absolute path.
    Checkout(String),
}

impl Source {
    /// The checkout in this folder.
    ///
    /// # Errors
    /// It is none, or its path cannot stand in a text.
    pub(super) fn checkout(folder: &Path) -> Result<Self, CommandError> {
        let unfit = |why: &str| CommandError::Unfit(folder.to_owned(), why.to_owned());
        let path = folder.canonicalize().map_err(|error| unfit(&error.to_string()))?;
        if !path.join("runtime-smol/explore/Cargo.toml").is_file() {
            return Err(unfit("is no checkout of listwatch"));
        }
        let path = path.to_str().filter(|path| !path.contains(char::is_control));
        path.map(|path| Self::Checkout(path.to_owned())).ok_or_else(|| unfit("its path is no plain text"))
    }

    /// How a manifest names the package in this folder of the checkout.
    fn dependency(&self, folder: &str) -> String {
        match self {
            Self::Published => format!("version = {:?}", env!("CARGO_PKG_VERSION")),
            Self::Checkout(path) => format!("path = {}", quoted(&format!("{path}/{folder}"))),
        }
    }

    /// What an image needs of the checkout: an option of its build, and a step.
    fn image(&self) -> [String; 2] {
        let Self::Checkout(path) = self else { return [String::new(), String::new()] };
        let argument = shlex::try_quote(path).map_or_else(|_| path.clone(), Into::into);
        let step = format!("COPY --from=listwatch [\".\", {}]\n", quoted(path));
        [format!("--build-context listwatch={argument} "), step]
    }

    /// What a workflow says of it.
    fn workflow(&self) -> &'static str {
        match self {
            Self::Published => "",
            Self::Checkout(_) => {
                "      # Cargo.toml names a folder of one machine: another one needs listwatch there, or its version.\n"
            }
        }
    }
}

/// A text in quotes, as TOML and JSON read it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The files of an operator of these names.
pub(super) fn files(names: &Names, source: &Source) -> impl Iterator<Item = (&'static str, String)> {
    let Names { name, library, kind, singular, plural, group } = names;
    let [context, checkout] = source.image();
    let is_plain = group.starts_with(|first: char| first.is_ascii_lowercase());
    // As a definition is printed.
    let in_yaml = if is_plain { format!("group: {group}") } else { format!("group: {group:?}") };
    let packages = ["runtime-smol", "runtime-smol/explore", "runtime-smol/stand-ins"];
    let [listwatch, explore, stand_ins] = packages.map(|folder| source.dependency(folder));
    // The first one that fits counts.
    let pairs = [
        ("widget-operator", name.clone()),
        ("widget_operator", library.clone()),
        ("widgets", plural.clone()),
        ("widget", singular.clone()),
        ("Widget", kind.clone()),
        ("group: example.com", in_yaml),
        ("example.com", group.clone()),
        ("{listwatch}", listwatch),
        ("{explore}", explore),
        ("{stand_ins}", stand_ins),
        ("{context}", context),
        ("{checkout}", checkout),
        ("{ci}", source.workflow().to_owned()),
        ("{rust}", env!("CARGO_PKG_RUST_VERSION").to_owned()),
    ];
    FILES.iter().map(move |(path, text)| (*path, replaced(text, &pairs)))
}

/// A text with other words in it. What came in is not read again.
fn replaced(text: &str, pairs: &[(&str, String)]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        if let Some((from, to)) = pairs.iter().find(|(from, _)| rest.starts_with(from)) {
            out.push_str(to);
            rest = &rest[from.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::process::Command;

    fn made(name: &str, kind: &str, group: &str, source: &Source) -> BTreeMap<&'static str, String> {
        let options = crate::arguments::NewOptions {
            name: name.to_owned(),
            kind: Some(kind.to_owned()),
            group: group.to_owned(),
            plural: None,
            path: ".".into(),
            listwatch: None,
        };
        files(&Names::of(&options).unwrap(), source).collect()
    }

    /// The operators of names of each length that are formatted.
    fn all() -> Vec<BTreeMap<&'static str, String>> {
        let kinds = ["A", "VPC", "Aa", "Zz", "Backup", "WidgetSpec"].map(str::to_owned).into_iter();
        let kinds = kinds.chain((2..=57).map(|len| format!("B{}", "c".repeat(len - 1))));
        kinds
            .map(|kind| {
                let group = format!("{}.com", kind.to_lowercase());
                made(&kind.to_lowercase().replace("a", "z"), &kind, &group, &Source::Published)
            })
            .chain([made(&"n".repeat(63), "Backup", &format!("{}.com", ["x"; 100].join(".")), &Source::Published)])
            .collect()
    }

    #[test]
    fn the_operator_of_the_template_is_the_template() {
        let made = made("widget-operator", "Widget", "example.com", &Source::Published);
        assert_eq!(made.len(), FILES.len());
        for (path, text) in FILES.iter().filter(|(path, _)| path.starts_with("src/") || path.starts_with("deploy/")) {
            assert_eq!(made[path], **text, "{path}");
        }
    }

    #[test]
    fn nothing_of_the_template_is_left_and_what_came_in_is_not_read_again() {
        let source = Source::Checkout("/home/a b/it's".to_owned());
        for made in [made("shop", "Backup", "acme.io", &Source::Published), made("shop", "Backup", "acme.io", &source)]
        {
            for (path, text) in &made {
                let lower = text.to_lowercase();
                assert!(!lower.contains("widget") && !lower.contains("example.com"), "{path}");
                let marks = ["{listwatch}", "{explore}", "{stand_ins}", "{context}", "{checkout}", "{ci}", "{rust}"];
                assert!(!marks.iter().any(|mark| text.contains(mark)), "{path}");
            }
        }
        let made = made("my-widget-operator", "WidgetSpec", "widgets.example.com", &source);
        assert!(made["src/definition.rs"].contains("pub struct WidgetSpecStatus {"));
        assert!(made["src/definition.rs"].contains("WidgetSpec, \"widgets.example.com/v1alpha1\", \"widgetspecs\""));
        assert!(made["Cargo.toml"].contains("\nlistwatch = { path = \"/home/a b/it's/runtime-smol\", features"));
        assert!(made["Dockerfile"].contains("docker build --build-context listwatch=\"/home/a b/it's\" -t my-widget"));
        assert!(made["Dockerfile"].contains("\nCOPY --from=listwatch [\".\", \"/home/a b/it's\"]\n"));
    }

    /// Where there is no rustfmt, nothing is known.
    #[test]
    fn rustfmt_would_change_nothing_whatever_the_names() {
        let folder = std::env::temp_dir().join(format!("listwatch-new-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--check", "--edition", "2024"]).current_dir(&folder);
        for (number, made) in all().iter().enumerate() {
            // Each by itself: `lib.rs` and `explore.rs` would lead to others.
            for (path, text) in made.iter().filter(|(path, _)| path.ends_with(".rs")) {
                let name = format!("{number}-{}", path.replace('/', "-"));
                std::fs::write(folder.join(&name), text.replace("pub mod ", "pub use ")).unwrap();
                rustfmt.arg(name);
            }
        }
        let formatted = rustfmt.output();
        std::fs::remove_dir_all(&folder).unwrap();
        let Ok(formatted) = formatted else { return eprintln!("not tested, because there is no rustfmt") };
        let (told, errors) = (String::from_utf8_lossy(&formatted.stdout), String::from_utf8_lossy(&formatted.stderr));
        assert!(formatted.status.success(), "{errors}{}", &told[..told.len().min(4000)]);
    }

    #[test]
    fn the_image_is_built_of_what_there_is_for_a_user_without_rights() {
        let source = Source::Checkout("/src/listwatch".to_owned());
        for made in [made("shop", "Backup", "acme.io", &Source::Published), made("shop", "Backup", "acme.io", &source)]
        {
            let rust = env!("CARGO_PKG_RUST_VERSION");
            let text = made["Dockerfile"].replace("\\\n", "");
            let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
            let of = |word: &str| lines.iter().filter_map(|line| line.strip_prefix(word)).collect::<Vec<_>>();
            assert_eq!(of("FROM "), [format!("rust:{rust}-alpine AS build").as_str(), "scratch"]);
            assert_eq!((of("USER "), of("ENTRYPOINT ")), (vec!["65532:65532"], vec!["[\"/shop\"]"]));
            let known = ["FROM", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT"];
            assert!(lines.iter().all(|line| known.contains(&line.split(' ').next().unwrap())), "{text}");
            for copied in of("COPY ").iter().filter(|copied| !copied.starts_with("--from=")) {
                let (sources, _to) = copied.rsplit_once(' ').unwrap();
                let is_there =
                    |source: &str| source == "Cargo.lock" || made.keys().any(|path| path.starts_with(source));
                assert!(sources.split(' ').all(is_there), "{copied}");
            }
        }
    }

    #[test]
    fn the_packages_are_those_of_this_release() {
        let made = made("shop", "Backup", "acme.io", &Source::Published);
        assert!(made["Cargo.toml"].contains(concat!("rust-version = \"", env!("CARGO_PKG_RUST_VERSION"), "\"\n")));
        assert!(made["Cargo.toml"].contains(concat!("listwatch = { version = \"", env!("CARGO_PKG_VERSION"), "\", ")));
    }
}
