//! The texts of a new operator, and the words in them.

/// The name of each file in the new folder, and its text.
pub(super) const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("template/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("template/src/lib.rs")),
    ("src/main.rs", include_str!("template/src/main.rs")),
    ("src/definition.rs", include_str!("template/src/definition.rs")),
    ("src/controller.rs", include_str!("template/src/controller.rs")),
    ("tests/explore.rs", include_str!("template/tests/explore.rs")),
    ("tests/deploy.rs", include_str!("template/tests/deploy.rs")),
    ("deploy/crd.yaml", include_str!("template/deploy/crd.yaml")),
    ("deploy/operator.yaml", include_str!("template/deploy/operator.yaml")),
    ("deploy/example.yaml", include_str!("template/deploy/example.yaml")),
    (".github/workflows/ci.yml", include_str!("template/ci.yml")),
    ("Dockerfile", include_str!("template/Dockerfile.txt")),
    (".dockerignore", include_str!("template/dockerignore.txt")),
    (".gitignore", include_str!("template/gitignore.txt")),
    ("README.md", include_str!("template/README.txt")),
];

/// The names that the template has of its own.
const OWN: [&str; 2] = ["Widget", "widget"];

/// Whether the programs of the template use a word, and not as the name of their kind.
pub(super) fn has_word(word: &str) -> bool {
    let sources = FILES.iter().filter(|(path, _)| path.ends_with(".rs"));
    let lines = sources.flat_map(|(_, text)| text.lines()).filter(|line| !line.trim_start().starts_with("//"));
    let words = lines.flat_map(|line| line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_'));
    words.filter(|used| !OWN.iter().any(|own| used.starts_with(own))).any(|used| used == word)
}
