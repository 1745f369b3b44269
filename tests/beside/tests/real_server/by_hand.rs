//! The control plane and the sample controller, as a reader of the README starts them.

use crate::real_server::plane::own_plane;
use crate::{checkout, target_folder};
use listwatch_tests::cargo::without_package;
use listwatch_tests::readme::{self, page, text};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

/// The folder of the control plane in the README.
const FOLDER: &str = "/tmp/plane";

/// How the README runs the example.
const RUN: &str = "cargo run -p listwatch --example sample-controller";

/// The same. Where `CI` is set, the example of all suites is as new: by itself, cargo would build everything once more.
fn built() -> String {
    let example = target_folder().join("debug/examples/sample-controller");
    let is_new = std::env::var_os("CI").is_some() && example.is_file();
    if is_new { example.to_str().unwrap().to_owned() } else { RUN.to_owned() }
}

/// The shell lines of a text, block by block, with another folder of the control plane.
fn blocks(text: &str, folder: &Path) -> Vec<String> {
    let blocks = readme::blocks(text, "sh").into_iter();
    blocks.map(|block| block.replace(FOLDER, folder.to_str().unwrap())).collect()
}

/// A terminal in the checkout.
fn shell(lines: &str) -> Command {
    let mut shell = Command::new("sh");
    without_package(&mut shell);
    shell.args(["-e", "-c", lines]).current_dir(checkout());
    shell
}

/// Runs lines that have to succeed.
#[track_caller]
fn paste(lines: &str) {
    let ended = shell(lines).output().unwrap();
    let (output, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{lines}\n{output}\n{errors}");
}

/// What was started for a test; killed when it is dropped.
struct Started {
    child: Child,
    output: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
}

impl Started {
    fn new(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let errors = BufReader::new(child.stderr.take().unwrap());
        Self { child, output, errors }
    }

    /// The first line of its standard output.
    fn first_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        if line.is_empty() {
            self.errors.read_to_string(&mut line).unwrap();
            panic!("it says nothing, and ends: {line}");
        }
        line.trim_end().to_owned()
    }

    /// Waits until its standard error has a line with this message, behind a date.
    fn await_error(&mut self, message: &str) {
        let lines = self.errors.by_ref().lines().map(Result::unwrap);
        let mut others = Vec::new();
        for line in lines {
            if line.contains(message) {
                return;
            }
            others.push(line);
        }
        panic!("no {message:?}: {others:#?}");
    }

    /// Waits until it ends.
    fn end(mut self) -> (ExitStatus, String) {
        let mut errors = String::new();
        self.errors.read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap(), errors)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The control plane of the README's line.
fn start_plane(readme: &str, folder: &Path) -> Started {
    let line = readme.lines().find(|line| line.starts_with("go run ")).unwrap();
    let _was_not_there = fs::remove_dir_all(folder);
    Started::new(shell(&format!("exec {}", line.replace(FOLDER, folder.to_str().unwrap()))))
}

#[test]
fn each_step_of_the_readme_to_a_controller_can_be_pasted() {
    // Where there is no Go, there is none of the suite's either.
    let Some(_its_turn) = own_plane() else { return };
    let readme = text();
    // The lines of the README do not quote a path, so this one has no spaces.
    let folder = std::env::temp_dir().join(format!("listwatch-by-hand-{}", std::process::id()));
    let mut plane = start_plane(&readme, &folder);
    assert_eq!(plane.first_line(), format!("ready {}/kubeconfig", folder.display()));
    assert!(readme.contains("prints `ready /tmp/plane/kubeconfig`"));

    let (_, chapter) = readme.split_once("\n## A controller, from nothing\n").unwrap();
    let steps = blocks(chapter.split("\n## ").next().unwrap(), &folder);
    let [_plane, controller, create, drift] = &steps[..] else { panic!("{steps:?}") };
    let exports = controller.lines().next().unwrap();
    assert!(exports.starts_with("export KUBECONFIG="), "{exports}");
    paste(&format!("{exports}\nkubectl version\nkubectl version | grep -q '^Server Version: v1[.]'"));
    // So that the signal reaches the controller itself.
    let mut controller = Started::new(shell(&controller.replace(RUN, &format!("exec {}", built()))));
    assert!(readme.contains("When it prints `started`"));
    controller.await_error("sample-controller: started");
    paste(create);
    paste(&format!("{exports}\n{drift}"));

    let deploy = blocks(&page("runtime-smol/src/guide/deploy.md"), &folder);
    let manifests: Vec<_> =
        deploy.iter().flat_map(|block| block.lines()).filter(|line| !line.starts_with("docker")).collect();
    assert!(manifests.iter().all(|line| line.starts_with("kubectl apply ")) && !manifests.is_empty(), "{manifests:?}");
    paste(&format!("{exports}\n{}", manifests.join("\n")));

    paste(&format!("kill {}", controller.child.id()));
    let (status, errors) = controller.end();
    assert!(status.success() && errors.ends_with("sample-controller: ended; every key is done\n"), "{errors}");
    drop(plane.child.stdin.take());
    let (status, errors) = plane.end();
    assert!(status.success(), "{errors}");
    fs::remove_dir_all(folder).unwrap();
}
