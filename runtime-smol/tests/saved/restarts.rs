//! What a program knows, and asks, when it starts again.

use crate::saved::shelf::{Agent, Problems, Ran, Shelf};
use core::time::Duration;
use listwatch::decode::{DecodeOptions, Raw};
use listwatch::saved::{Origin, Saved, SavedFile};
use listwatch::{Clock, Executor, Resource, run};
use std::sync::atomic::{AtomicBool, Ordering};

/// The version of the state that is in the file.
fn version_of(agent: &Agent) -> String {
    let origin = Origin::new::<Raw>(&agent.resource, DecodeOptions::default(), "").unwrap();
    let origin = origin.server(agent.server).authority(agent.authority);
    let mut file = SavedFile::new(agent.file.as_ref());
    Saved::<Raw>::read(&mut file, &origin, DecodeOptions::default(), 1 << 30).unwrap().unwrap().version
}

#[test]
fn with_20_000_saved_objects_and_no_change_the_server_sends_one_object() {
    let agent = Agent::new(&Shelf::with(20_000));
    let first = agent.run_for(10);
    assert_eq!((first.told.len(), first.problems.len()), (20_001, 0));
    let (requests, sent) = agent.shelf.asked();
    assert_eq!((requests.len(), sent), (2, 20_000), "{requests:?}");

    let second = agent.run_for(10);
    assert_eq!((second.told.len(), second.problems.len()), (20_001, 0));
    assert!(second.pods == agent.truth());
    let (requests, sent) = agent.shelf.asked();
    assert_eq!(sent, 1);
    assert_eq!(requests[0], "/api/v1/pods?limit=1");
    assert!(requests[1].contains("watch=1") && requests[1].contains("resourceVersion=20000&"), "{requests:?}");
    assert_eq!(requests.len(), 2);
}

#[test]
fn without_a_server_the_program_knows_what_it_knew_and_later_learns_what_has_changed() {
    let agent = Agent::new(&Shelf::with(3));
    agent.run_for(10);
    agent.shelf.state().is_away = true;
    let away = agent.run_for(600);
    assert_eq!(away.told[..4], ["initial p-00000", "initial p-00001", "initial p-00002", "synced"]);
    assert!(away.told[4..].iter().all(|told| told == "failed resume"), "{:?}", away.told);
    assert!(away.status.contains("the cache was saved"), "{}", away.status);
    assert_eq!((away.pods, away.problems.len()), (agent.truth(), 0));

    let _ = agent.shelf.asked();
    let back = agent.run(async |clock| {
        clock.sleep(Duration::from_secs(60)).await;
        {
            let mut state = agent.shelf.state();
            (state.is_away, state.sent) = (false, 0);
            state.put("p-00001");
            state.put("p-9");
            state.delete("p-00000");
        }
        clock.sleep(Duration::from_secs(60)).await;
    });
    let news: Vec<_> = back.told[4..].iter().filter(|told| !told.starts_with("failed")).collect();
    assert_eq!(news, ["updated p-00001", "added p-9", "deleted p-00000"]);
    assert!(back.status.starts_with("synced at version 6"), "{}", back.status);
    assert_eq!(agent.shelf.asked().1, 1 + 3, "one object of the list, and the changes");
    assert_eq!(version_of(&agent), "6", "saved at the end");
}

#[test]
fn after_a_410_the_next_run_lists_and_tells_what_has_changed() {
    let agent = Agent::new(&Shelf::with(3));
    agent.run_for(10);
    {
        let mut state = agent.shelf.state();
        state.put("p-9");
        state.delete("p-00000");
        state.oldest = state.version;
    }
    let next = agent.run_for(60);
    assert_eq!(next.told[3], "synced");
    let mut news = next.told[4..].to_vec();
    news.sort();
    assert_eq!(news, ["added p-9", "deleted p-00000", "failed watch", "updated p-00001", "updated p-00002"]);
    assert_eq!(next.pods, agent.truth());
}

#[test]
fn a_server_that_went_back_to_a_backup_is_listed() {
    let agent = Agent::new(&Shelf::with(3));
    agent.run_for(10);
    let backup = Agent { shelf: Shelf::with(2), ..agent };
    let next = backup.run_for(60);
    assert_eq!(next.told[4], "failed resume");
    assert_eq!(next.pods, backup.truth());
    assert_eq!(version_of(&backup), "2");
}

#[test]
fn a_file_of_something_else_is_told_and_a_list_follows() {
    let agent = Agent::new(&Shelf::with(3));
    agent.run_for(10);
    let path = agent.file.as_ref().display().to_string();
    let agent = Agent { server: "https://10.0.0.2", ..agent };
    let next = agent.run_for(10);
    let told = "it is of another server: https://10.0.0.1, and this is https://10.0.0.2; the cache begins with a list";
    assert_eq!(next.problems, [format!("{path}: {told}")]);
    assert_eq!(next.pods, agent.truth());
    assert_eq!(agent.run_for(10).problems, [""; 0], "it is saved as this server's now");

    let agent = Agent { authority: "cd", ..agent };
    assert!(agent.run_for(10).problems[0].contains("another certificate authority: ab, and this is cd"));
    let agent = Agent { resource: Resource::new("/api/v1/pods").with_label_selector("app=web"), ..agent };
    assert!(agent.run_for(10).problems[0].contains("another resource"));
}

#[test]
fn a_file_that_was_cut_or_changed_is_told_and_a_list_follows() {
    let agent = Agent::new(&Shelf::with(3));
    let whole = |agent: &Agent| {
        agent.run_for(10);
        std::fs::read(&agent.file).unwrap()
    };
    for (damage, told) in [
        (&(|file: &mut Vec<u8>| file.truncate(file.len() / 2)) as &dyn Fn(&mut Vec<u8>), "its end is missing"),
        (&|file: &mut Vec<u8>| file[300] ^= 4, "its checksum is wrong"),
        (&|file: &mut Vec<u8>| *file = b"{}".to_vec(), "its end is missing"),
    ] {
        let mut file = whole(&agent);
        damage(&mut file);
        std::fs::write(&agent.file, file).unwrap();
        let next = agent.run_for(10);
        assert_eq!(next.problems.len(), 1, "{:?}", next.problems);
        assert!(next.problems[0].contains(told), "{:?}", next.problems);
        assert_eq!(next.told[..4], ["initial p-00000", "initial p-00001", "initial p-00002", "synced"]);
        assert_eq!(next.pods, agent.truth());
    }
}

#[test]
fn nothing_is_written_while_nothing_changes_and_a_bookmark_is_saved_once_a_minute() {
    let agent = Agent::new(&Shelf::with(3));
    agent.run(async |clock| {
        let second = Duration::from_secs(1);
        clock.sleep(5 * second).await;
        assert_eq!(version_of(&agent), "3", "the first state is saved at once");
        std::fs::remove_file(&agent.file).unwrap();
        clock.sleep(3600 * second).await;
        assert!(!agent.file.as_ref().exists(), "nothing has changed");
        agent.shelf.state().bookmark();
        clock.sleep(5 * second).await;
        assert_eq!(version_of(&agent), "4");
        agent.shelf.state().bookmark();
        clock.sleep(50 * second).await;
        assert_eq!(version_of(&agent), "4", "less than a minute has passed");
        clock.sleep(10 * second).await;
        assert_eq!(version_of(&agent), "5");
        std::fs::remove_file(&agent.file).unwrap();
    });
    assert!(!agent.file.as_ref().exists(), "nor is anything at the end");
}

#[test]
fn secrets_are_not_saved() {
    let agent = Agent { resource: Resource::new("/api/v1/secrets"), ..Agent::new(&Shelf::with(1)) };
    let ran = agent.run_for(10);
    assert_eq!(ran.problems.len(), 1);
    assert!(ran.problems[0].contains("/api/v1/secrets may contain secrets"), "{:?}", ran.problems);
    assert!(!agent.file.as_ref().exists());
    assert_eq!(ran.told.len(), 2, "the informer goes on without");
}

#[test]
fn a_folder_that_is_not_there_is_told_once_in_a_while_and_the_informer_goes_on() {
    let file = listwatch_tests::scratch::Scratch::path("/pods.json");
    let path = file.as_ref().display().to_string();
    let agent = Agent { file, ..Agent::new(&Shelf::with(1)) };
    let ran = agent.run_for(10);
    assert_eq!(ran.told.len(), 2);
    assert_eq!(ran.problems.len(), 2, "once, and at the end: {:?}", ran.problems);
    assert!(
        ran.problems[0].starts_with(&path) && ran.problems[0].ends_with("the cache is not saved"),
        "{:?}",
        ran.problems
    );
}

#[test]
fn an_undecodable_object_of_the_saved_state_is_told_by_each_run() {
    let agent = Agent::new(&Shelf::with(1));
    agent.shelf.state().put_undecodable("odd");
    let told = |ran: Ran| ran.told.into_iter().filter(|told| told.starts_with("Undecodable")).count();
    for run in 0..3 {
        assert_eq!(told(agent.run_for(10)), 1, "run {run}");
        assert_eq!(version_of(&agent), "2");
    }
}

#[test]
fn saved_secrets_of_an_earlier_run_are_reported() {
    let agent = Agent { resource: Resource::new("/api/v1/secrets"), ..Agent::new(&Shelf::with(1)) };
    let path = agent.file.as_ref().display().to_string();
    std::fs::write(&path, "secret").unwrap();
    std::fs::write(path.clone() + ".new", "secr").unwrap();
    let ran = agent.run_for(10);
    assert_eq!(ran.problems.len(), 1, "{:?}", ran.problems);
    assert!(ran.problems[0].starts_with(&path) && ran.problems[0].ends_with("of an earlier run: delete it"));
    assert!(!std::path::Path::new(&(path + ".new")).exists(), "the beginning of a save is of no use to anybody");
    assert!(agent.file.as_ref().exists(), "whoever named the file deletes it");
}

#[test]
fn a_cache_of_no_named_server_is_not_saved() {
    let agent = Agent { server: "", ..Agent::new(&Shelf::with(1)) };
    let ran = agent.run_for(10);
    assert_eq!(ran.problems.len(), 1, "{:?}", ran.problems);
    assert!(ran.problems[0].ends_with("name the server (`SaveTo::of`, `Origin::server`); the cache is not saved"));
    assert!(!agent.file.as_ref().exists());
    assert_eq!(ran.pods, agent.truth(), "the informer goes on without");
}

#[test]
fn a_start_saves_after_a_minute_or_at_once_after_a_410() {
    let agent = Agent::new(&Shelf::with(3));
    agent.run_for(10);
    agent.run(async |clock| {
        agent.shelf.state().put("p-9");
        clock.sleep(Duration::from_secs(50)).await;
        assert_eq!(version_of(&agent), "3", "a crash here has written nothing");
        clock.sleep(Duration::from_secs(15)).await;
        assert_eq!(version_of(&agent), "4");
    });
    agent.run(async |clock| {
        {
            let mut state = agent.shelf.state();
            state.put("p-9");
            state.oldest = state.version;
        }
        clock.sleep(Duration::from_secs(10)).await;
        assert_eq!(version_of(&agent), "5", "after a 410, nothing would go on from the file");
    });
}

#[test]
fn a_cluster_that_cannot_be_identified_is_not_the_saved_one() {
    let agent = Agent { cluster: Some("u-7"), ..Agent::new(&Shelf::with(3)) };
    assert_eq!(agent.run_for(10).problems, [""; 0]);
    assert_eq!(agent.run_for(10).problems, [""; 0]);
    assert_eq!(agent.shelf.asked().1, 3 + 1, "it is the same cluster");

    let agent = Agent { cluster: Some(""), ..agent };
    let ran = agent.run_for(10);
    let told = "it is of another cluster: u-7, and this is unknown; the cache begins with a list";
    assert_eq!(ran.problems, [format!("{}: {told}", agent.file.as_ref().display())]);
    assert_eq!(agent.shelf.asked().1, 1 + 3);
}

/// A type whose code panics when it says so.
#[derive(serde::Deserialize, serde::Serialize)]
struct Picky {
    #[serde(deserialize_with = "picky")]
    spec: serde_json::Value,
}

static PANICS: AtomicBool = AtomicBool::new(false);

fn picky<'de, D: serde::Deserializer<'de>>(json: D) -> Result<serde_json::Value, D::Error> {
    assert!(!PANICS.load(Ordering::Relaxed), "picky");
    serde::Deserialize::deserialize(json)
}

#[test]
fn a_panic_in_the_reading_of_a_saved_file_is_reported() {
    let agent = Agent::new(&Shelf::with(2));
    let follow = |panics| {
        let (clock, problems) = (Clock::simulated(), Problems::default());
        PANICS.store(panics, Ordering::Relaxed);
        let mut events = agent.events::<Picky>(&clock, &problems);
        PANICS.store(false, Ordering::Relaxed);
        let follow = async { while events.next().await.is_some() {} };
        run(&clock, &Executor::new(), smol::future::or(clock.sleep(Duration::from_secs(10)), follow));
        let pods = events.driver().informer().cache().iter().filter(|pod| pod.spec["n"].is_number()).count();
        assert_eq!((pods, agent.shelf.asked().1), (2, 2));
        drop(events);
        problems.lock().unwrap().clone()
    };
    assert_eq!(follow(false), [""; 0]);
    let told = "an object of it: panicked: picky; the cache begins with a list";
    assert_eq!(follow(true), [format!("{}: {told}", agent.file.as_ref().display())]);
}
