//! `listwatch diff`.

use super::show::SelectionOptions;
use super::values::Format;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  listwatch diff old.jsonl.zst new.jsonl.zst             # the objects at the end, then the writes
  listwatch diff audit-go.log audit-port.log --program sample-controller
  listwatch diff old.jsonl.zst new.jsonl.zst writes --kind deployments -n web
  listwatch diff monday.yaml tuesday.yaml 'web/*'        # two lists or folders of objects
  listwatch diff old.jsonl.zst new.jsonl.zst -o json

What it compares:
  objects   those at the end: which of them one side alone has, and which fields differ
  writes    of each object, in their order: method, fields, status. Times are not compared.
            If one of the files has no requests, changes stand in their place.

With WHAT, it compares these parts of the time line alone, and no objects. So it does with --user, --program \
and --version. Objects of generated names are compared with those of the same owner and prefix. Fields \
that differ between any two runs are left out, and dates and uids count as equal, unless --all-fields is \
given. Without --show-secrets, the values of Secrets are compared at the end alone, and never printed.

Equal differences stand together. Below them is the first object, with what made its value on each side. \
The exit status is 0 if there are none, and 3 if there are some. With -o json, each line is an object, and \
the last one is the summary.";

/// Compare two recordings: the objects at their ends, and the writes
#[derive(Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("file", |file| file.value_name("B").help("The other recording")),
    mut_arg("words", |words| words.help(
        "What to compare: changes, reconciles, writes, failures, leases [default: objects and writes]; and keys, \
         such as web/c500, c500 or 'web/*'"
    )),
    mut_arg("all_fields", |all| all.help(
        "Compare dates, uids, resourceVersion, generation and managedFields, too"
    )),
    mut_arg("skip_bad_lines", |skip| skip.help("Pass over broken lines instead of ending at the first")),
)]
pub(crate) struct DiffOptions {
    /// The one recording: a file or a folder that `listwatch replay` takes
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,

    #[command(flatten)]
    pub(crate) selection: SelectionOptions,

    /// Print lines for people, or one JSON object a line
    #[arg(short = 'o', long, visible_alias = "output", value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(crate) format: Format,
}
