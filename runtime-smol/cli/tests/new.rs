//! Operators in new folders.

use crate::command::{command, run};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("listwatch-new-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn run(&self, arguments: &str) -> crate::command::Run {
        let mut command = command(["new", "--path"]);
        command.arg(&self.0).args(arguments.split_whitespace());
        run(command)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _stays = fs::remove_dir_all(&self.0);
    }
}

/// The files below a folder, by their paths in it.
fn files(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
        }
    }
}

#[test]
fn a_new_folder_has_an_operator() {
    let folder = Folder::new("made");
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let told = folder.run(&format!("my-operator --kind Backup --group acme.io --listwatch {}", checkout.display()));
    assert_eq!(
        told.output(),
        "my-operator is an operator of the kind Backup (backups.acme.io). To run it on the cluster of your \
         kubeconfig:\n\n  cd my-operator\n  kubectl apply -f deploy/crd.yaml\n  cargo run\n\nREADME.md says how to go on.\n"
    );
    let mut found = Vec::new();
    files(&folder.0, &folder.0, &mut found);
    found.sort_unstable();
    let expected = [
        ".dockerignore",
        ".github/workflows/ci.yml",
        ".gitignore",
        "Cargo.toml",
        "Dockerfile",
        "README.md",
        "deploy/crd.yaml",
        "deploy/example.yaml",
        "deploy/operator.yaml",
        "src/controller.rs",
        "src/definition.rs",
        "src/lib.rs",
        "src/main.rs",
        "tests/deploy.rs",
        "tests/explore.rs",
    ];
    assert_eq!(found, expected.map(|path| format!("my-operator/{path}")));
    let manifest = fs::read_to_string(folder.0.join("my-operator/Cargo.toml")).unwrap();
    let path = checkout.canonicalize().unwrap().join("runtime-smol");
    assert!(manifest.contains(&format!("listwatch = {{ path = \"{}\"", path.display())), "{manifest}");
}

#[test]
fn a_folder_that_is_there_is_not_changed() {
    let folder = Folder::new("kept");
    let made = folder.0.join("shop");
    fs::create_dir(&made).unwrap();
    let error = format!("{}: is there already", made.display());
    assert_eq!(folder.run("shop").error(1), error);
    assert_eq!(fs::read_dir(&made).unwrap().count(), 0);
    assert!(
        run(command(["new", "shop", "--path", "/nowhere/at/all"]))
            .error(1)
            .starts_with("/nowhere/at/all/shop: cannot be written: ")
    );
}

#[test]
fn what_does_not_fit_makes_no_folder() {
    let folder = Folder::new("refused");
    for (arguments, error) in [
        (
            "../shop",
            "NAME ../shop: the name of an operator has small letters, digits and single dashes, 63 at most, and begins with a letter",
        ),
        ("shop --kind CronJob", "--kind CronJob: Kubernetes has the kind CronJob itself"),
        ("shop --kind Result", "--kind Result: the program that is made uses Result otherwise"),
        (
            "shop --group apps.k8s.io",
            "--group apps.k8s.io: the groups of Kubernetes are not for others; take a domain of yours",
        ),
    ] {
        assert_eq!(folder.run(arguments).error(2), error);
    }
    let error = format!("{}: is no checkout of listwatch", folder.0.display());
    assert_eq!(folder.run(&format!("shop --listwatch {}", folder.0.display())).error(1), error);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
}
