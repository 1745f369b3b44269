//! `listwatch new`.

use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  listwatch new my-operator                             # the kind My of example.com
  listwatch new backups --kind Backup --group acme.io
  cargo listwatch new shop --path .. --listwatch .      # beside a checkout, which it is built with

The folder has the kind as a type, a controller that keeps a Deployment and a ConfigMap for each object, \
tests that kill it in a simulated cluster, a Dockerfile, manifests, and a workflow for CI. Its README.md says how \
to run it. A folder that is there is never changed.";

/// Make an operator: a definition, a controller, tests, an image and manifests
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NewOptions {
    /// The name of the operator and of its new folder
    pub(crate) name: String,

    /// The kind of its objects [default: the name in CamelCase, without -operator or -controller]
    #[arg(long)]
    pub(crate) kind: Option<String>,

    /// The API group of the kind: a domain of yours
    #[arg(long, default_value = "example.com")]
    pub(crate) group: String,

    /// The plural of the kind [default: as kubectl guesses it]
    #[arg(long)]
    pub(crate) plural: Option<String>,

    /// The folder that gets the new one
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) path: PathBuf,

    /// A checkout of listwatch to build with, instead of the published packages
    #[arg(long, value_name = "CHECKOUT")]
    pub(crate) listwatch: Option<PathBuf>,
}
