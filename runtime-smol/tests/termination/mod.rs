//! Signals, each in a process of its own: a signal concerns all that runs in one.

use listwatch::controller::Termination;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::raise;
use smol::future::block_on;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

/// The part that a child of this process plays.
const PART: &str = "TERMINATION_PART";

/// Runs `part` in a process of its own, by the test that calls this.
fn play(test: &str, part: fn()) -> ExitStatus {
    if std::env::var_os(PART).is_some() {
        part();
        std::process::exit(7);
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(PART, test).stdout(Stdio::null()).stderr(Stdio::null());
    child.status().unwrap()
}

#[test]
fn the_first_signal_completes_the_future_and_the_process_goes_on() {
    let status = play("termination::the_first_signal_completes_the_future_and_the_process_goes_on", || {
        for signal in [SIGTERM, SIGINT] {
            let termination = Termination::new().unwrap();
            raise(signal).unwrap();
            block_on(termination);
        }
    });
    assert_eq!(status.code(), Some(7), "{status}");
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let status = play("termination::a_second_signal_ends_the_process_at_once", || {
        let _termination = Termination::new().unwrap();
        raise(SIGTERM).unwrap();
        raise(SIGTERM).unwrap();
    });
    assert_eq!(status.signal(), Some(SIGTERM), "{status}");
}

#[test]
fn a_signal_after_the_last_listener_ends_the_process() {
    let status = play("termination::a_signal_after_the_last_listener_ends_the_process", || {
        let (one, other) = (Termination::new().unwrap(), Termination::new().unwrap());
        drop(one);
        raise(SIGTERM).unwrap();
        block_on(other);
        raise(SIGTERM).unwrap();
    });
    assert_eq!(status.signal(), Some(SIGTERM), "{status}");
}
