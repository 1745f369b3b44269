//! `listwatch show`.

use super::serve::{Moment, moment};
use super::values::{Format, Output};
use clap::{Args, ValueEnum};
use listwatch::object::LabelSelector;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use strsim::levenshtein;

const EXAMPLES: &str = "\
Examples:
  listwatch show tape.jsonl.zst --summary               # what stands out, and whose doing that is
  listwatch show tape.jsonl.zst                         # everything, in its order
  listwatch show tape.jsonl.zst web/c500                # all that concerns one key
  listwatch show tape.jsonl.zst failures --since 02:00 --until 02:10
  listwatch show tape.jsonl.zst writes --kind deployments --program sample-controller
  listwatch show tape.jsonl.zst 'web/c5*' reconciles --relative
  listwatch show tape.jsonl.zst leases
  listwatch show tape.jsonl.zst changes -l app=web --format json
  listwatch show tape.jsonl.zst --at 02:03:10           # the objects as they were
  listwatch show tape.jsonl.zst --at 12s web/c500 -o yaml

What it shows:
  changes     what clients were told of objects: the fields that changed, and whose write that was
  reconciles  controller, key, causes, the states of caches that were read, writes, outcome, duration
  writes      requests that change objects, field by field, with the answer
  failures    refusals (400 and above), connections and watches that broke, errors of watches, gaps,
              reconciles that failed, panicked or are retried, and writes whose end is unknown
  leases      where a lease was taken, renewed, lost or given back

The last line counts what was found, what is shown, and what the options left out. With --format json, \
each line is an object with the fields that its page in the documentation lists, and the last one is the \
summary. On a terminal, the output goes through $PAGER, or less.";

/// The recording, and what of it is shown.
#[derive(Args)]
pub(crate) struct SelectionOptions {
    /// A file of `listwatch record` or of a controller that recorded itself, or what kubectl saved, as
    /// `listwatch replay` takes it
    pub(crate) file: PathBuf,

    /// What to show: changes, reconciles, writes, failures, leases [default: all of them]; and keys, such as
    /// web/c500, c500 or 'web/*'
    #[arg(value_name = "WHAT|KEY", value_parser = word)]
    words: Vec<Word>,

    /// Show one key, such as web/c500, or c500 in any namespace; `*` and `?` stand for any characters; may be
    /// repeated
    #[arg(long = "key", value_name = "KEY", help_heading = "Selection")]
    keys: Vec<String>,

    /// Show one resource by its plural, its kind or its whole name, such as deployments, Deployment or
    /// apps/v1/deployments; may be repeated
    #[arg(long = "kind", visible_alias = "resource", value_name = "NAME", help_heading = "Selection")]
    pub(crate) kinds: Vec<String>,

    /// Show one namespace
    #[arg(short, long, help_heading = "Selection")]
    pub(crate) namespace: Option<String>,

    /// Show objects with these labels, such as app=web
    #[arg(short = 'l', long = "label", value_name = "SELECTOR", value_parser = selector, help_heading = "Selection")]
    pub(crate) labels: Option<LabelSelector>,

    /// Show what this user did, as an audit log tells; `*` and `?` stand for any characters
    #[arg(long, help_heading = "Selection")]
    pub(crate) user: Option<String>,

    /// Show what this program did: a controller, the beginning of a User-Agent, or a field manager
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub(crate) program: Option<String>,

    /// Show what has this resourceVersion
    #[arg(long = "version", value_name = "VERSION", help_heading = "Selection")]
    pub(crate) version: Option<String>,

    /// Begin at this time after the beginning of the recording, at a date or a time of day (in UTC, unless
    /// it has a zone)
    #[arg(long, value_name = "TIME|DATE", value_parser = moment, help_heading = "Time")]
    pub(crate) since: Option<Moment>,

    /// End at this time
    #[arg(long, value_name = "TIME|DATE", value_parser = moment, help_heading = "Time")]
    pub(crate) until: Option<Moment>,

    /// Print managedFields, and resourceVersion among the fields that changed
    #[arg(long, help_heading = "Output")]
    pub(crate) all_fields: bool,

    /// Print the values of Secrets too
    #[arg(long, help_heading = "Output")]
    pub(crate) show_secrets: bool,

    /// Count the broken lines of FILE instead of ending at the first
    #[arg(long, help_heading = "Output")]
    pub(crate) skip_bad_lines: bool,
}

/// Show what happened in a recording: changes, reconciles, writes, failures, leases
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ShowOptions {
    #[command(flatten)]
    selection: SelectionOptions,

    /// Show the objects as they were at this time, or at the end: a table of them, or those of KEY with -o
    #[arg(
        long,
        value_name = "TIME|DATE|end",
        value_parser = moment,
        conflicts_with_all = ["since", "until", "relative", "format", "user", "program", "version", "limit"],
        help_heading = "Time"
    )]
    pub(crate) at: Option<Moment>,

    /// Print what stands out, the most important first, each with its culprit and the command that shows more:
    /// loops, refusals, what was undone, watches that lag, definitions that were deleted
    #[arg(long, conflicts_with_all = ["at", "limit"], help_heading = "Output")]
    pub(crate) summary: bool,

    /// Print times since the beginning of the recording in place of dates
    #[arg(long, help_heading = "Output")]
    pub(crate) relative: bool,

    /// End after so many lines of the time line
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(crate) limit: Option<NonZeroU64>,

    /// Print lines for people, or one JSON object a line
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(crate) format: Format,

    /// With --at, how objects are printed
    #[arg(short, long, value_name = "FORMAT", value_enum, requires = "at", help_heading = "Output")]
    pub(crate) output: Option<Output>,

    /// Print to the terminal itself, without a pager
    #[arg(long, help_heading = "Output")]
    pub(crate) no_pager: bool,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  listwatch report tape.jsonl.zst -o report.html
  listwatch report audit.log -o report.html --since 02:00 --until 02:30
  listwatch report tape.jsonl.zst -o web.html -n web

The page is one file, loads nothing, and has no script. It has plots over time, a lane for each of the \
objects that changed most and for each list and watch, loops, conflicts, the writers, hot keys, slow \
reconciles, gaps and leases. `listwatch show` has each line of it.";

/// Make one HTML page of a recording: plots, lanes, loops, conflicts, writers
#[derive(Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportOptions {
    #[command(flatten)]
    pub(crate) selection: SelectionOptions,

    /// The page to write
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: PathBuf,
}

const BROWSE_EXAMPLES: &str = "\
Examples:
  listwatch browse tape.jsonl.zst
  listwatch browse audit.log --since 02:00 --until 02:30
  listwatch browse tape.jsonl.zst -n web --kind deployments

Keys: n and w go to the next failure and the next write, y to what made the row, enter opens its details, \
/ filters, t goes to a time, ? lists all keys, q leaves. It has what `listwatch show` prints, up to 100,000 rows.";

/// Look at the time line of a recording on a terminal, with a cursor
#[derive(Args)]
#[command(after_help = BROWSE_EXAMPLES)]
pub(crate) struct BrowseOptions {
    #[command(flatten)]
    pub(crate) selection: SelectionOptions,

    /// Show times since the beginning of the recording in place of dates
    #[arg(long, help_heading = "Output")]
    pub(crate) relative: bool,
}

/// What a time line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum What {
    Changes,
    Reconciles,
    Writes,
    Failures,
    Leases,
}

#[derive(Clone, Debug, PartialEq)]
enum Word {
    What(What),
    Key(String),
}

impl Deref for ShowOptions {
    type Target = SelectionOptions;

    fn deref(&self) -> &SelectionOptions {
        &self.selection
    }
}

impl SelectionOptions {
    /// The parts that are shown; none for all.
    pub(crate) fn whats(&self) -> Vec<What> {
        self.words.iter().filter_map(|word| if let Word::What(what) = word { Some(*what) } else { None }).collect()
    }

    /// Whether the objects at the end are meant, beside the time line.
    pub(crate) fn selects_objects(&self) -> bool {
        self.whats().is_empty() && self.user.is_none() && self.program.is_none() && self.version.is_none()
    }

    /// The keys that are shown; none for all.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let words = self.words.iter().filter_map(|word| if let Word::Key(key) = word { Some(&**key) } else { None });
        words.chain(self.keys.iter().map(String::as_str)).collect()
    }
}

fn word(text: &str) -> Result<Word, String> {
    let what = What::value_variants().iter().find(|what| {
        let name = what.to_possible_value().is_some_and(|value| value.get_name() == text);
        let singular = what.to_possible_value().is_some_and(|value| value.get_name().strip_suffix('s') == Some(text));
        name || singular
    });
    let names = || What::value_variants().iter().filter_map(What::to_possible_value);
    match (what, names().find(|name| levenshtein(name.get_name(), text) <= 2)) {
        (Some(what), _) => Ok(Word::What(*what)),
        (None, Some(name)) => Err(format!("did you mean `{}`? A key of this name is given by --key", name.get_name())),
        (None, None) if text.is_empty() => {
            Err("give changes, reconciles, writes, failures, leases, or a key".to_owned())
        }
        (None, None) if is_recording(text) => {
            Err("one recording is read at a time; a key of this name is given by --key".to_owned())
        }
        (None, None) => Ok(Word::Key(text.to_owned())),
    }
}

/// Whether a word is meant as a file: it is one, or a path that ends as a recording does.
fn is_recording(text: &str) -> bool {
    let name = ["zst", "gz"].iter().find_map(|end| text.strip_suffix(end)?.strip_suffix('.')).unwrap_or(text);
    let ends = [".jsonl", ".json", ".log", ".yaml", ".yml"].iter().any(|end| name.ends_with(end));
    Path::new(text).is_file() || (text.contains('/') && ends)
}

fn selector(text: &str) -> Result<LabelSelector, String> {
    LabelSelector::parse(text).map_err(|error| format!("{} at character {}", error.message, error.offset + 1))
}
