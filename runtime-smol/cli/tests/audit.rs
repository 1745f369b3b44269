//! `listwatch audit`: what two servers have.

use crate::command::{Run, bundled, listwatch};
use crate::serve::serving::Serving;

fn audit(server: &Serving, against: &str) -> Run {
    listwatch(&format!("audit v1/pods --server {} --against {against}", server.url))
}

fn rollout() -> String {
    bundled("pods-rollout.jsonl.gz").display().to_string()
}

#[test]
fn a_server_has_what_its_recording_has_and_what_another_one_has() {
    let (end, other) = (Serving::capture("pods-rollout", "--at end"), Serving::capture("pods-rollout", "--at end"));
    for against in [rollout(), other.url] {
        let output = audit(&end, &against).output();
        assert!(
            output.starts_with("v1/pods: the ") && output.contains(&format!(" of {against} are here, up to version ")),
            "{output}"
        );
    }
}

#[test]
fn objects_that_only_the_other_one_has_are_named() {
    let (end, early) = (Serving::capture("pods-rollout", "--at end"), Serving::capture("pods-rollout", "--at 10s"));
    let run = audit(&end, &early.url);
    assert_eq!(run.status, Some(3), "{run:?}");
    assert!(run.stdout.lines().nth(1).is_some_and(|line| line.contains("  only there, version ")), "{run:?}");
    assert!(run.stderr.ends_with(" objects differ\n"), "{run:?}");
}

#[test]
fn a_resource_that_the_recording_lacks_and_an_address_with_a_credential_are_refused() {
    let end = Serving::capture("pods-rollout", "--at end");
    let run = listwatch(&format!("audit v1/nodes --server {} --against {}", end.url, rollout()));
    assert_eq!(run.status, Some(2), "{run:?}");
    assert!(run.stderr.contains("v1/nodes was not recorded; choose one of v1/pods\n"), "{run:?}");
    for selection in ["v1/pods -l app=web", "v1/pods --field-selector spec.nodeName=a", "pods/web -n team-0"] {
        let run = listwatch(&format!("audit {selection} --server {} --against {}", end.url, rollout()));
        assert_eq!(run.status, Some(2), "{run:?}");
        assert!(run.stderr.contains("a recording is compared without selectors"), "{run:?}");
    }
    let run = listwatch("audit v1/pods --against http://me:hunter2@127.0.0.1:1");
    assert!(run.status == Some(2) && !run.stderr.contains("hunter2"), "{run:?}");
}
