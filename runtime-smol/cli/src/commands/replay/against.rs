//! The writes of one build of a controller beside those of a tape, or of another build.

use super::program::Build;
use crate::arguments::{Output, ReplayOptions, hide_credentials};
use crate::error::CommandError;
use crate::output;
use crate::output::text::write_json;
use crate::system::stop::stop;
use listwatch::controller::{Divergence, DivergenceKind, Findings};
use listwatch::file::Playback;
use listwatch::text::Printable;
use listwatch::{Clock, Executor, run};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

/// The differences that people get; programs get all that are kept.
const SHOWN: usize = 20;

/// Replays a tape by one or two programs, and prints how their writes differ.
///
/// # Errors
/// The writes differ, or cannot be compared.
pub(super) fn against(options: &ReplayOptions) -> Result<(), CommandError> {
    let is_json = match options.output {
        None => false,
        Some(Output::Json) => true,
        Some(_) => return Err(CommandError::Arguments("with --against, -o takes json alone")),
    };
    let builds = builds(options)?;
    let tape = Playback::from_file(&options.file)?;
    if !tape.has_reconciles() {
        return Err(CommandError::NoReconciles(options.file.clone()));
    }
    let findings = compare(options, &tape, &builds)?;
    let printed = if is_json { as_json(options, &builds, &findings) } else { for_people(options, &builds, &findings) };
    match output::print(&printed).map_err(CommandError::Output) {
        // The exit status counts for a reader that has read enough, too.
        Err(error) if !error.is_closed_pipe() => return Err(error),
        _ => {}
    }
    match findings.secrets_not_compared {
        _ if findings.is_same() => Ok(()),
        writes if findings.total() == 0 => Err(CommandError::WritesNotCompared(writes)),
        _ => Err(CommandError::WritesDiffer),
    }
}

/// The programs: the old one, if there are two, and the new one.
fn builds(options: &ReplayOptions) -> Result<Vec<Build<'_>>, CommandError> {
    let names: &[&str] = match options.against.len() {
        1 => &[""],
        2 => &["the old build, ", "the new build, "],
        _ => return Err(CommandError::Arguments("--against takes one program, or an old build and a new one")),
    };
    let named = options.against.iter().zip(names);
    Ok(named.map(|(program, name)| Build { name: format!("{name}{}", program.0[0]), program }).collect())
}

fn compare(options: &ReplayOptions, tape: &Playback, builds: &[Build<'_>]) -> Result<Findings, CommandError> {
    let room = Room::new().map_err(CommandError::NoRoom)?;
    // The hasher's seed is of the system, and nothing keeps it.
    let key = format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    let clock = Clock::real();
    let mut stop = stop(&clock, None).map_err(CommandError::Signals)?;
    let mut all = run(&clock, &Executor::new(), async {
        let mut all = Vec::new();
        for (number, build) in builds.iter().enumerate() {
            let path = room.0.join(format!("writes-{number}"));
            all.push(build.replay(&options.file, (path.as_path(), key.as_str()), options.within, &mut stop).await?);
        }
        Ok::<_, CommandError>(all)
    })?;
    let ended: Vec<String> = all.iter_mut().map(|replayed| std::mem::take(&mut replayed.ended)).collect();
    let mut writes = all.into_iter().map(|replayed| replayed.writes);
    let (old, new) = match (writes.next(), writes.next()) {
        (Some(old), Some(new)) => (Some(old), new),
        (Some(new), None) => (None, new),
        (None, _) => return Ok(Findings::default()),
    };
    Findings::of_writes(tape, old, new).map_err(|error| {
        let build = builds.iter().position(|build| build.name == error.program());
        let ended = build.and_then(|place| ended.get(place)).map(|ended| format!("; {ended}"));
        CommandError::Program(error.program().to_owned(), error.why().to_owned() + &ended.unwrap_or_default())
    })
}

/// Counts, and the differences in the order of the tape.
fn for_people(options: &ReplayOptions, builds: &[Build<'_>], findings: &Findings) -> Vec<u8> {
    let names: Vec<_> = builds.iter().map(|build| Printable::new(&build.name).to_string()).collect();
    let tape = Printable::new(options.file.display().to_string()).to_string();
    let mut text = format!("{tape}, by {}: {findings}\n", names.join(", and by "));
    for divergence in findings.divergences.iter().take(SHOWN).skip(1) {
        let _a_string_takes_all = writeln!(text, "{divergence}");
    }
    let more = findings.total().saturating_sub(SHOWN as u64);
    if more > 0 {
        let _a_string_takes_all = writeln!(text, "and {more} more; -o json has up to a thousand");
    }
    hide_credentials(text).into_bytes()
}

fn as_json(options: &ReplayOptions, builds: &[Build<'_>], findings: &Findings) -> Vec<u8> {
    let Findings { reconciles, same, missing, additional, different, secrets_not_compared, outcomes, .. } = findings;
    let Findings { follows, not_compared, too_long, breaks_off, has_hashes, .. } = findings;
    let name = |build: Option<&Build<'_>>| build.map(|build| hide_credentials(build.program.0.join(" ")));
    let (new, old) = (builds.last(), builds.first().filter(|_| builds.len() > 1));
    let found = json!({
        "tape": options.file.display().to_string(),
        "old": name(old),
        "new": name(new),
        "isSame": findings.is_same(),
        "reconciles": reconciles,
        "writes": {
            "same": same,
            "missing": missing,
            "additional": additional,
            "different": different,
            "notCompared": secrets_not_compared,
        },
        "outcomes": outcomes,
        "follows": follows,
        "notCompared": not_compared,
        "tooLong": too_long,
        "breaksOff": breaks_off,
        "hasHashes": has_hashes,
        "divergences": findings.divergences.iter().map(divergence).collect::<Vec<_>>(),
    });
    let mut line = Vec::new();
    let _a_vector_takes_all = write_json(&mut line, &found);
    line
}

fn divergence(divergence: &Divergence) -> Value {
    let Divergence { line, reconcile, of, key, attempt, causes, kind, follows, .. } = divergence;
    let kind = match kind {
        DivergenceKind::Missing { method, target } => json!({ "kind": "missing", "method": method, "target": target }),
        DivergenceKind::Additional { method, target, fields } => {
            json!({ "kind": "additional", "method": method, "target": target, "fields": fields })
        }
        DivergenceKind::Different { method, target, fields } => {
            json!({ "kind": "different", "method": method, "target": target, "fields": fields })
        }
        DivergenceKind::Outcome { recorded, replayed } => {
            json!({ "kind": "outcome", "old": recorded, "new": replayed })
        }
        other => json!({ "kind": other.to_string() }),
    };
    let mut found = json!({
        "line": line,
        "reconcile": reconcile,
        "controller": &**of,
        "key": key,
        "attempt": attempt,
        "causes": causes,
        "follows": follows,
    });
    if let (Value::Object(found), Value::Object(kind)) = (&mut found, kind) {
        found.extend(kind);
    }
    found
}

/// A directory for the files of writes, which is removed with this. Nobody else may read it.
struct Room(PathBuf);

impl Room {
    fn new() -> std::io::Result<Self> {
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let (all, process) = (std::env::temp_dir(), std::process::id());
        let mut made = Err(std::io::ErrorKind::AlreadyExists.into());
        for number in 0..100 {
            let path = all.join(format!("listwatch-against-{process}-{number}"));
            made = builder.create(&path).map(|()| Self(path));
            if !matches!(&made, Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        made
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _is_left = std::fs::remove_dir_all(&self.0);
    }
}
