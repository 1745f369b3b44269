//! A program that is killed while it saves.
//!
//! ```sh
//! KILLS=1000 cargo test -p listwatch --test suite saved::kills -- --nocapture
//! ```

use core::time::Duration;
use listwatch::decode::{DecodeOptions, Decoder, ListMeta, Raw};
use listwatch::object::ObjectHandle;
use listwatch::saved::{Origin, Saved, SavedFile, Writing};
use listwatch::time::WallTime;
use listwatch::{Clock, Resource};
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How many kills there are unless `KILLS` says otherwise.
const KILLS: u64 = 100;
/// The file that the child saves to.
const FILE: &str = "LISTWATCH_TEST_SAVED_FILE";
/// How many objects a state has: two pieces of the file.
const OBJECTS: usize = 80;

/// A folder that is removed with its files. What a killed process has written is in the system's memory, so the folder
/// needs no disk.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let parent = Some(PathBuf::from("/dev/shm")).filter(|shared| shared.is_dir()).unwrap_or_else(env::temp_dir);
        let folder = parent.join(format!("listwatch-kills-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ignored = std::fs::remove_dir_all(&self.0);
    }
}

fn origin() -> Origin {
    Origin::new::<Raw>(&Resource::new("/api/v1/pods"), DecodeOptions::default(), "").unwrap().server("https://10.0.0.1")
}

fn read(path: &Path) -> Option<Saved<Raw>> {
    Saved::read(&mut SavedFile::new(path), &origin(), DecodeOptions::default(), 1 << 30).unwrap()
}

/// All objects of a state have its version.
fn state(version: u64) -> Vec<ObjectHandle<Raw>> {
    let mut decoder = Decoder::default();
    let object = |number| {
        let padding = "x".repeat(1000);
        let text = format!(
            r#"{{"metadata":{{"name":"p-{number}","uid":"u","resourceVersion":"{version}"}},"padding":"{padding}"}}"#
        );
        decoder.item::<Raw>(text.as_bytes(), &ListMeta::default()).unwrap().into()
    };
    (0..OBJECTS).map(object).collect()
}

/// The child: saves one state after the other, and says which one is whole, until it is killed.
#[test]
fn saves_until_it_is_killed() {
    let Ok(path) = env::var(FILE) else { return };
    let first = read(Path::new(&path)).map_or(0, |saved| saved.version.parse().unwrap());
    let (mut file, mut out) = (SavedFile::new(path), std::io::stdout());
    for version in first + 1.. {
        let writing = Writing::new(&origin(), &version.to_string(), WallTime::UNIX_EPOCH, state(version));
        writing.write_to(&mut file).unwrap();
        writeln!(out, "saved {version}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn a_program_that_is_killed_at_any_moment_leaves_the_last_whole_state() {
    let kills = env::var("KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let (folder, random, clock) = (Folder::new(), RandomState::new(), Clock::real());
    let file = folder.0.join("pods.json");
    let (mut last, mut between) = (0, Duration::from_millis(10));
    for kill in 0..kills {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "saved::kills::saves_until_it_is_killed", "--nocapture"])
            .env(FILE, &file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let said = |line: String| line.strip_prefix("saved ").and_then(|version| version.parse::<u64>().ok());
        let mut whole = lines.by_ref().find_map(said).unwrap();
        let began = clock.now();
        if kill % 10 == 0 {
            whole = lines.by_ref().find_map(said).unwrap();
            between = clock.now().saturating_since(began);
        }
        // Within the next state, or the one after it.
        smol::block_on(clock.sleep(between.mul_f64((random.hash_one(kill) % 2000) as f64 / 1000.0)));
        child.kill().unwrap();
        child.wait().unwrap();
        // A line that the kill cut in half says nothing.
        whole = lines.filter_map(said).last().unwrap_or(whole);
        SavedFile::new(&file).lock().unwrap();
        assert!(!file.with_extension("json.new").exists(), "the lock removes what the kill left");
        let saved = read(&file).expect("a state was saved");
        let version: u64 = saved.version.parse().unwrap();
        assert!([whole, whole + 1].contains(&version) && whole > last, "{version} after {whole} and {last}");
        assert_eq!(saved.objects, state(version), "a state that is not whole");
        last = version;
    }
    println!("{kills} kills, {last} states, the last one in {between:?}");
}
