//! The file of the writes of a replay: a line that tells the tape, and one for each reconcile, each controller that begins
//! and each that ends.
//!
//! ```text
//! {"writes":1,"started":1763823227123,"server":"https://…","cluster":"<uid>","seed":42}
//! {"controller":"foos"}
//! {"reconcile":12,"line":340,"of":"foos","key":"web/a","attempt":1,"causes":["…"],"sent":[{"method":"PATCH","target":"/…","body":"{…}"}],"outcome":"done"}
//! {"over":"foos"}
//! ```

use super::wrote::{MadeUp, Wrote};
use listwatch_transport_file::{SentCall, TapeStart};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The version of the form.
const VERSION: u32 = 1;

/// A line of the file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Line<'l> {
    Start(Start),
    Reconcile(Reconcile<'l>),
    Controller {
        controller: String,
    },
    Over {
        over: String,
        /// Why the replay ended before its tape did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// The tape, as its first line tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Start {
    writes: u32,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cluster: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Reconcile<'l> {
    reconcile: u64,
    line: u64,
    of: Cow<'l, str>,
    key: Cow<'l, str>,
    attempt: u32,
    causes: Cow<'l, [String]>,
    sent: Vec<Sent>,
    outcome: Option<Cow<'l, str>>,
    #[serde(rename = "madeUp", default, skip_serializing_if = "is_default")]
    made_up: MadeUp,
    #[serde(default, skip_serializing_if = "is_false")]
    inexact: bool,
    #[serde(rename = "tooLong", default, skip_serializing_if = "is_false")]
    too_long: bool,
}

#[derive(Debug, Deserialize, Serialize)]
struct Sent {
    method: String,
    target: String,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(default)]
    body: Body,
    #[serde(default, skip_serializing_if = "is_false")]
    withheld: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Body {
    Text(String),
    Bytes(Vec<u8>),
}

/// The file of a replay that goes on.
pub(super) struct WritesFile(BufWriter<File>);

impl WritesFile {
    /// Creates the file, which only its owner may read.
    pub(super) fn create(path: &Path, start: Option<&TapeStart>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = Self(BufWriter::new(options.open(path)?));
        file.write(&Line::Start(Start::of(start)))?;
        Ok(file)
    }

    /// Writes a line. Those that begin or end something are in the file at once.
    pub(super) fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, line)?;
        self.0.write_all(b"\n")?;
        if matches!(line, Line::Reconcile(_)) { Ok(()) } else { self.0.flush() }
    }
}

impl Start {
    pub(super) fn of(start: Option<&TapeStart>) -> Self {
        let Some(TapeStart { started, server, cluster, seed, .. }) = start.cloned() else {
            return Self { writes: VERSION, ..Self::default() };
        };
        Self { writes: VERSION, started: started.map(|date| date.as_unix_millis()), server, cluster, seed }
    }

    /// Whether this program reads what follows.
    pub(super) fn is_known(&self) -> bool {
        self.writes == VERSION
    }
}

impl<'l> Reconcile<'l> {
    pub(super) fn of(wrote: &'l Wrote) -> Self {
        Self {
            reconcile: wrote.number,
            line: wrote.line,
            of: (&*wrote.of).into(),
            key: (&*wrote.key).into(),
            attempt: wrote.attempt,
            causes: (&*wrote.causes).into(),
            sent: wrote.sent.iter().map(Sent::of).collect(),
            outcome: wrote.outcome.as_deref().map(Into::into),
            made_up: wrote.made_up,
            inexact: wrote.is_inexact,
            too_long: wrote.is_too_long,
        }
    }

    pub(super) fn read(self) -> Wrote {
        Wrote {
            number: self.reconcile,
            line: self.line,
            of: self.of.into(),
            key: self.key.into_owned(),
            attempt: self.attempt,
            causes: self.causes.into_owned(),
            sent: self.sent.into_iter().map(Sent::read).collect(),
            outcome: self.outcome.map(Cow::into_owned),
            made_up: self.made_up,
            is_inexact: self.inexact,
            is_too_long: self.too_long,
        }
    }
}

impl Sent {
    fn of(call: &SentCall) -> Self {
        let SentCall { method, target, content_type, body, hashed: withheld, .. } = call.clone();
        let body = String::from_utf8(body).map_or_else(|error| Body::Bytes(error.into_bytes()), Body::Text);
        Self { method, target, content_type, body, withheld }
    }

    fn read(self) -> SentCall {
        let Self { method, target, content_type, body, withheld } = self;
        let body = match body {
            Body::Text(text) => text.into_bytes(),
            Body::Bytes(bytes) => bytes,
        };
        SentCall { id: 0, method, target, content_type, body, hashed: withheld }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

fn is_default(made_up: &MadeUp) -> bool {
    *made_up == MadeUp::default()
}

fn is_false(value: &bool) -> bool {
    !value
}
