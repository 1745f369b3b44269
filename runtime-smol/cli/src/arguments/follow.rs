//! `listwatch watch` and `listwatch record`.

use super::credentials::has_credential;
use super::values::{Format, Kind, Output, OutputParser, Print};
use clap::Args;
use clap::builder::{NonEmptyStringValueParser, PathBufValueParser, TypedValueParser};
use jiff::{SignedDuration, Span, SpanRelativeTo};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

const WATCH_EXAMPLES: &str = "\
Examples:
  listwatch watch pods
  listwatch watch apps/v1/deployments -n web
  listwatch watch pods deploy/web configmaps -n web
  listwatch watch pods -l app=web -o wide
  listwatch watch configmaps -o json > changes.json  # for `listwatch replay`
  listwatch watch certificates.cert-manager.io --for 10m
  listwatch watch v1/pods --server http://127.0.0.1:8001  # of `kubectl proxy`

Ctrl-C, SIGTERM, SIGHUP (not under nohup) and --for end the command; it prints the rest first. \
A second signal ends it at once.";

const RECORD_EXAMPLES: &str = "\
Examples:
  listwatch record v1/pods -o tonight.jsonl.zst
  listwatch record deployments -n web -o web.jsonl --for 2h
  listwatch record v1/pods apps/v1/deployments -o both.jsonl.zst
  listwatch record pods -o pods.jsonl --print events --format json

Ctrl-C, SIGTERM, SIGHUP (not under nohup) and --for end the recording; the file is then complete. \
A second signal ends it at once. The file has no credentials.";

/// Follow resources of a cluster, and print every change
#[derive(Args)]
#[command(after_help = WATCH_EXAMPLES)]
pub(crate) struct WatchOptions {
    #[command(flatten)]
    pub(crate) follow: FollowOptions,

    /// Print a table with the server's columns and with what changed (table, wide), a table with
    /// other columns (custom-columns=NAME:.metadata.name,…), names, or each change with its whole
    /// object as JSON or YAML [default: table on a terminal]
    #[arg(short, long, value_name = "FORMAT", value_parser = OutputParser, help_heading = "Output")]
    pub(crate) output: Option<Output>,

    /// Print the labels in a last column of the table
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub(crate) show_labels: bool,

    /// Without effect: a watch is what this command does
    #[arg(short = 'w', long = "watch", hide = true)]
    _watch: bool,

    /// Print for programs what client-go's handlers get, as a table or as one JSON object a line
    /// [default: table if the output is no terminal]
    #[arg(long, value_enum, conflicts_with = "output", help_heading = "Output")]
    pub(crate) format: Option<Format>,

    /// Print every event, or the cache at the end; with --format json, the cache follows the events
    #[arg(long, value_enum, default_value_t = Print::Events, help_heading = "Output")]
    pub(crate) print: Print,

    /// Print the values of Secrets too, with -o json or -o yaml
    #[arg(long, help_heading = "Output")]
    pub(crate) show_secrets: bool,
}

/// Follow resources of a cluster, and write the traffic to a file
#[derive(Args)]
#[command(after_help = RECORD_EXAMPLES)]
pub(crate) struct RecordOptions {
    #[command(flatten)]
    pub(crate) follow: FollowOptions,

    /// Print every event, or the cache at the end [default: the summary]
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) print: Option<Print>,

    /// Print a table, or one JSON object a line
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(crate) format: Format,

    /// The new file to write, compressed if its name ends in .zst or .gz; for JSON on standard
    /// output, give --print events --format json
    #[arg(short, long, value_name = "FILE", value_parser = new_file(), help_heading = "Recording")]
    pub(crate) output: PathBuf,

    /// Record Secrets too, with their data
    #[arg(long, help_heading = "Recording")]
    pub(crate) include_secrets: bool,
}

/// The options that `watch` and `record` share.
#[derive(Args)]
pub(crate) struct FollowOptions {
    /// The resources: each a plural with its version, such as v1/pods or apps/v1/deployments, or a
    /// name that kubectl knows, such as pods, deploy or certificates.cert-manager.io; a name may have
    /// the name of one object behind it, such as deploy/web
    #[arg(value_name = "RESOURCE", required = true, value_delimiter = ',', value_parser = resource)]
    pub(crate) resources: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    /// Watch one namespace [default: that of the kubeconfig's context, if it names one, else all]
    #[arg(short, long, value_parser = namespace, help_heading = "Selection")]
    namespace: Option<String>,

    /// Watch all namespaces, whatever --namespace and the context say
    #[arg(short = 'A', long, help_heading = "Selection")]
    all_namespaces: bool,

    /// Watch objects with these labels, such as app=web
    #[arg(short = 'l', long = "selector", value_name = "SELECTOR", help_heading = "Selection")]
    pub(crate) labels: Option<String>,

    /// Watch objects with these fields, such as spec.nodeName=n1
    #[arg(long = "field-selector", value_name = "SELECTOR", help_heading = "Selection")]
    pub(crate) fields: Option<String>,

    /// Keep objects as JSON text (raw), as their metadata alone (meta: the server sends no more), or
    /// as parsed JSON (value)
    #[arg(long = "type", value_name = "TYPE", value_enum, default_value_t = Kind::Raw, help_heading = "Informer")]
    pub(crate) kind: Kind,

    /// Begin with a list, even if the server can stream the state
    #[arg(long, help_heading = "Informer")]
    pub(crate) no_watch_list: bool,

    /// Continue if the server refuses the first request
    #[arg(long, help_heading = "Informer")]
    pub(crate) keep_trying: bool,

    /// End after this time, such as 90s, 10m or 1h30m
    #[arg(long = "for", value_name = "TIME", value_parser = duration, help_heading = "Informer")]
    pub(crate) duration: Option<Duration>,
}

/// The server, and who asks it.
#[derive(Args, Clone)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ServerOptions {
    /// The context of the kubeconfig [default: its current context]
    #[arg(long)]
    pub(crate) context: Option<String>,

    /// The kubeconfig [default: $KUBECONFIG, then ~/.kube/config, then the pod's service account]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The address of a server that needs no kubeconfig, such as http://127.0.0.1:8001
    #[arg(long, value_name = "URL", conflicts_with_all = ["context", "kubeconfig"])]
    pub(crate) server: Option<String>,

    /// Ask in the name of this user
    #[arg(long = "as", value_name = "USER", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) user: Option<String>,

    /// Ask as a member of this group; may be given several times
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    pub(crate) groups: Vec<String>,

    /// Send this token instead of the kubeconfig's credential; other users of this machine can see it
    #[arg(long)]
    pub(crate) token: Option<String>,

    /// Accept any certificate of the server
    #[arg(long)]
    pub(crate) insecure_skip_tls_verify: bool,

    /// Send the credential also to a server without TLS, where it can be read on the way
    #[arg(long)]
    pub(crate) credentials_over_http: bool,
}

/// The namespaces to watch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scope<'a> {
    All,
    /// The one that the arguments name.
    Given(&'a str),
    /// The one that the context names. It is meant for resources that have namespaces.
    OfContext(&'a str),
}

impl<'a> Scope<'a> {
    /// The one namespace.
    pub(crate) fn namespace(self) -> Option<&'a str> {
        match self {
            Self::All => None,
            Self::Given(namespace) | Self::OfContext(namespace) => Some(namespace),
        }
    }
}

impl FollowOptions {
    /// The namespaces to watch, where the context names this one.
    pub(crate) fn scope<'a>(&'a self, of_context: Option<&'a str>) -> Scope<'a> {
        match (&self.namespace, of_context) {
            _ if self.all_namespaces => Scope::All,
            (Some(namespace), _) => Scope::Given(namespace),
            (None, Some(namespace)) => Scope::OfContext(namespace),
            (None, None) => Scope::All,
        }
    }
}

fn new_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|file| match file.extension().and_then(OsStr::to_str) {
        _ if file.as_os_str() == "-" => Err("a recording never goes to standard output; give -o FILE"),
        Some(other) if COMPRESSIONS_OF_OTHERS.contains(&&*other.to_ascii_lowercase()) => {
            Err("a recording is compressed if its name ends in .zst (Zstandard) or .gz (gzip); give one of these")
        }
        _ => Ok(file),
    })
}

/// The ends of names that would promise a compression that a recording never has.
const COMPRESSIONS_OF_OTHERS: [&str; 12] =
    ["7z", "br", "bz2", "gzip", "lz", "lz4", "lzma", "tgz", "xz", "z", "zip", "zstd"];

/// Refuses what can be no name of a resource, and may be a credential. A group has no capitals, as a token has.
fn resource(text: &str) -> Result<String, &'static str> {
    let (kind, _object) = text.split_once('/').unwrap_or((text, ""));
    let (_name, group) = kind.split_once('.').unwrap_or((kind, ""));
    let is_name = !text.is_empty() && !group.contains(|c: char| c.is_uppercase()) && !has_credential(text);
    is_name.then(|| text.into()).ok_or("give a resource, such as pods, v1/pods or deploy/web")
}

/// Checks the rules of Kubernetes for the name of a namespace.
fn namespace(text: &str) -> Result<String, &'static str> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let bounded = !text.starts_with('-') && !text.ends_with('-') && (1..=63).contains(&text.len());
    let is_name = bounded && text.chars().all(allowed);
    is_name.then(|| text.into()).ok_or("give at most 63 small letters, digits and inner dashes")
}

/// Reads seconds, or numbers with their units.
pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let with_units = || {
        let span: Span = text.parse().ok()?;
        let signed: SignedDuration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
        Duration::try_from(signed).ok()
    };
    seconds.or_else(with_units).ok_or("give seconds, or numbers with units, such as 90s, 10m or 1h30m")
}
