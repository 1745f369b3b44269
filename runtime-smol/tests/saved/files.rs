//! The file itself.

use crate::saved::shelf::{Agent, Shelf};
use core::time::Duration;
use listwatch::decode::Raw;
use listwatch::file::Playback;
use listwatch::saved::{Flash, SavedFile};
use listwatch::{Clock, Driver, Events, Executor, Informer, InformerConfig, run};
use listwatch_tests::scratch::Scratch;

#[test]
fn a_saved_cache_is_a_list_that_a_playback_reads() {
    let agent = Agent::new(&Shelf::with(30));
    agent.run_for(10);
    let saved = Playback::from_file(&agent.file).unwrap();
    let informer = Informer::<Raw>::new(agent.resource.clone(), InformerConfig::default());
    let clock = Clock::simulated();
    let events = Events::start(Driver::new(informer, saved), clock.clone());
    let mut events = events.until(|driver| driver.transport().is_complete());
    run(&clock, &Executor::new(), async { while events.next().await.is_some() {} });
    let pods: Vec<_> = events.driver().informer().cache().iter().map(|pod| pod.as_str().to_owned()).collect();
    assert_eq!(pods, agent.truth());
    assert_eq!(events.driver().informer().received_version(), Some("30"));
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_a_saved_cache_also_if_a_file_was_there_before() {
    use std::os::unix::fs::PermissionsExt;
    let agent = Agent::new(&Shelf::with(1));
    std::fs::write(&agent.file, "").unwrap();
    std::fs::set_permissions(&agent.file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = agent.run_for(10);
    assert_eq!(ran.problems.len(), 1, "an empty file is no saved state: {:?}", ran.problems);
    assert_eq!(std::fs::metadata(&agent.file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_next_state_is_not_followed() {
    let (target, file) = (Scratch::new("mine"), Scratch::path(".json"));
    let next = Scratch::path("");
    let next = next.as_ref().with_file_name(format!("{}.new", file.as_ref().file_name().unwrap().to_str().unwrap()));
    std::os::unix::fs::symlink(&target, &next).unwrap();
    let mut saved = SavedFile::new(file.as_ref());
    saved.create().unwrap();
    saved.write(b"state").unwrap();
    saved.commit().unwrap();
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "state");
    assert!(!next.exists());
}

#[test]
fn a_state_that_was_not_committed_leaves_the_last_one() {
    let file = Scratch::new("last");
    let mut saved = SavedFile::new(file.as_ref());
    saved.create().unwrap();
    saved.write(b"next").unwrap();
    drop(saved);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "last");
    let mut saved = SavedFile::new(file.as_ref());
    saved.create().unwrap();
    saved.write(b"new").unwrap();
    saved.commit().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    assert!(saved.commit().is_err(), "nothing was begun");
}

#[test]
fn a_folder_is_no_saved_state() {
    let mut saved = SavedFile::new(env!("CARGO_TARGET_TMPDIR"));
    let error = saved.open().unwrap_err().to_string();
    assert!(error.ends_with("this is no file; delete it, or name another path"), "{error}");
}

#[test]
fn a_saved_file_belongs_to_one_informer_at_a_time() {
    let agent = Agent::new(&Shelf::with(3));
    let path = agent.file.as_ref().to_path_buf();
    let mut first = SavedFile::new(&path);
    first.lock().unwrap();
    let error = SavedFile::new(&path).create().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy);
    let ran = agent.run(async |clock| {
        clock.sleep(Duration::from_secs(150)).await;
        assert!(!path.exists(), "it is the other one's");
        drop(first);
        clock.sleep(Duration::from_secs(60)).await;
        assert!(path.exists(), "the other one has ended");
    });
    let told = "another informer or process saves to it; give each one a path of its own; the cache begins with a list, \
                and is not saved until the other one has ended";
    assert_eq!(ran.problems, [format!("{}: {told}", path.display())]);
    assert_eq!(agent.run_for(10).problems, [""; 0]);
}

#[test]
fn a_save_that_fails_leaves_no_beginning() {
    let file = Scratch::new("last");
    let next = format!("{}.new", file.as_ref().display());
    let mut saved = SavedFile::new(file.as_ref());
    saved.create().unwrap();
    saved.write(b"next").unwrap();
    assert!(std::path::Path::new(&next).exists());
    drop(saved);
    assert!(!std::path::Path::new(&next).exists(), "it was given up");

    // A folder cannot be replaced by a file.
    let folder = Scratch::path("");
    std::fs::create_dir(&folder).unwrap();
    let next = format!("{}.new", folder.as_ref().display());
    let mut saved = SavedFile::new(folder.as_ref());
    saved.create().unwrap();
    assert!(saved.commit().is_err());
    assert!(!std::path::Path::new(&next).exists(), "its commit failed");
    drop(saved);
    std::fs::remove_dir(&folder).unwrap();
}
