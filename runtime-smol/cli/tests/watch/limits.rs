//! Systems that give a command less than it needs.

use crate::command::{Run, command, run};
use crate::program;
use crate::watch::server::{Answer, Server};
use crate::watch::stderr::status;
use std::io::Read;
use std::process::{Command, Stdio};

/// Each way to use the command that says something.
const USES: [&str; 3] = ["watch v1/pods --for 1s --server", "replay", "--nonsense"];

fn arguments(using: &str) -> Vec<String> {
    using.split(' ').map(str::to_owned).chain([Server::nowhere()]).collect()
}

/// A run, which is killed if it does not end by itself.
fn ended(mut command: Command) -> Run {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = child.stderr.take().unwrap();
    let (status, mut stderr) = (status(child).code(), String::new());
    errors.read_to_string(&mut stderr).unwrap();
    Run { status, stdout: String::new(), stderr }
}

/// No address space has room for a stack of that size.
#[test]
fn a_command_that_cannot_start_a_thread_ends_with_the_reason() {
    for using in USES {
        let mut command = command(arguments(using));
        command.env("RUST_MIN_STACK", (1_u64 << 50).to_string());
        let run = ended(command);
        let error = run.error(1);
        assert!(error.starts_with("no thread can be started: "), "{using}: {error}");
        assert!(error.ends_with("; raise the limit on processes or memory"), "{using}: {error}");
    }
}

#[test]
fn a_command_with_too_few_file_descriptors_ends_with_the_reason() {
    for using in USES {
        let mut limited = Command::new("sh");
        // The test itself may have inherited some.
        let script = r#"exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4; exec "$0" "$@""#;
        limited.args(["-c", script, program()]).args(arguments(using)).stdin(Stdio::null());
        let run = ended(limited);
        let error = run.error(1);
        assert!(error.starts_with("too few file descriptors: "), "{using}: {error}");
        assert!(error.ends_with("; raise the limit on open files (`ulimit -n`)"), "{using}: {error}");
    }
}

#[test]
fn a_time_of_zero_ends_the_command_before_any_request() {
    let run = run(command(arguments("watch v1/pods --for 0s --server")));
    assert_eq!(run.error(1), "ended before the first state was complete: no request was sent");
}

#[test]
fn a_request_that_is_too_long_is_told_as_too_long() {
    let (long, page) = ("c".repeat(30_000), r#""items":[{"metadata":{"name":"a"}}]"#);
    let list = format!(r#"{{"kind":"PodList","metadata":{{"resourceVersion":"5","continue":"{long}"}},{page}}}"#);
    let server = Server::of(move |_| Answer::json(200, &list));
    let run = run(command(["watch", "v1/pods", "--no-watch-list", "--for", "1m", "--server", &server.url]));
    let error = run.error(1);
    assert!(error.starts_with("request cannot be sent on a page: the request is too long"), "{error}");
}
