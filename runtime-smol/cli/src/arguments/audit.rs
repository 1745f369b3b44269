//! `listwatch audit`.

use super::credentials::has_credential;
use super::follow::FollowOptions;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  listwatch audit pods --against tonight.jsonl.zst      # has the recording what the server has?
  listwatch audit pods nodes --against http://127.0.0.1:8002  # another API server, by its proxy
  listwatch audit deployments -n web --against tonight.jsonl.zst

Objects are compared by their versions, up to the version that the other one has. An object that is \
only there was deleted since, or this server has lost it. A recording is compared without selectors. \
The exit status is 0 if all are the same, and 3 if some differ.";

/// Compare what a cluster has with another of its API servers, or with a recording
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditOptions {
    #[command(flatten)]
    pub(crate) follow: FollowOptions,

    /// The address of the other API server, which needs no credential (`kubectl proxy`), or a recording
    #[arg(long, value_name = "FILE|URL", value_parser = against, help_heading = "Comparison")]
    pub(crate) against: Against,
}

/// What a server is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Against {
    Server(String),
    File(PathBuf),
}

fn against(text: &str) -> Result<Against, &'static str> {
    match text.split_once("://") {
        Some(_) if has_credential(text) => Err("give an address without a credential"),
        Some(("http" | "https", _)) => Ok(Against::Server(text.into())),
        _ => Ok(Against::File(text.into())),
    }
}
