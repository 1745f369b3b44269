//! Tests that need a process to themselves: what they count is that of a whole process.

use std::process::Command;

/// Set in the process of one test.
const ALONE: &str = "LISTWATCH_TEST_ALONE";

/// Runs a test in a process of its own: `test` is the closure that it consists of, whose name tells which one it is.
///
/// # Panics
/// If the test fails there.
pub fn alone<F: FnOnce()>(test: F) {
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let name = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    let (_program, name) = name.split_once("::").unwrap_or(("", name));
    let program = std::env::current_exe().unwrap_or_else(|error| panic!("this program has no path: {error}"));
    let child = Command::new(program).args(["--exact", name, "--nocapture"]).env(ALONE, "1").output();
    let child = child.unwrap_or_else(|error| panic!("{name}: {error}"));
    let said = String::from_utf8_lossy(&child.stdout);
    // The harness prints a result of its own, which must not be counted twice.
    for line in said.lines().filter(|line| !line.starts_with("test result: ")) {
        println!("{line}");
    }
    print!("{}", String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success(), "{name}: {}", child.status);
    assert!(said.contains("1 passed"), "no test is named {name}");
}
