//! The control plane as a reader of the README starts it.

use crate::plane::own_plane;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_line_of_the_readme_starts_a_control_plane_that_ends_with_its_input() {
    // Where there is no Go, there is none of the suite's either.
    let Some(_its_turn) = own_plane() else { return };
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let readme = std::fs::read_to_string(checkout.join("README.md")).unwrap();
    let line = readme.lines().find(|line| line.starts_with("go run ")).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("by_hand");
    let _was_not_there = std::fs::remove_dir_all(&folder);
    let mut words: Vec<_> = line.split(' ').collect();
    assert_eq!(words.pop(), Some("/tmp/plane"));

    let mut plane = Command::new(words[0])
        .args(&words[1..])
        .arg(&folder)
        .current_dir(checkout)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(plane.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said.trim_end(), format!("ready {}", folder.join("kubeconfig").display()));
    assert!(readme.contains("prints `ready /tmp/plane/kubeconfig`"));
    drop(plane.stdin.take());
    assert!(plane.wait().unwrap().success());
}
