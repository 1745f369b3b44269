//! The writes of clients, as kube-apiserver has logged them.
//!
//! It logs a write before it handles it, and again before the last byte of its answer. So a write that a kill interrupts
//! is in the log once. The server may have made it or not, and its client has no answer. A client that has the answer
//! finds the write in the log twice.

use crate::real_server::plane::Plane;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};

/// The parameter of a query that a test adds to its requests to find them in the log. The server ignores it.
pub(crate) const NUMBER: &str = "audit";

/// How each line begins.
const START: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","#;

/// A write, as the server saw it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    /// The id of the request.
    pub(crate) id: String,
    /// The user. Of an impersonated user, the log tells once the write is answered.
    pub(crate) user: String,
    pub(crate) agent: String,
    pub(crate) verb: String,
    /// The plural name, with that of the subresource: `foos/status`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    /// Empty for a create that was not answered.
    pub(crate) name: String,
    /// What the client has numbered the request with.
    pub(crate) number: Option<usize>,
    /// The status of the answer; `None` if the server was killed before.
    pub(crate) code: Option<u16>,
    pub(crate) request: Value,
    pub(crate) response: Value,
    /// When the server received it, as text of one width in UTC.
    pub(crate) received: String,
}

impl Write {
    /// Whether the server says that the object is now as the client wanted it.
    pub(crate) fn is_made(&self) -> bool {
        self.code.is_some_and(|code| (200..300).contains(&code))
    }

    fn received(event: &Value) -> Self {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let subresource = text("/objectRef/subresource");
        let separator = if subresource.is_empty() { "" } else { "/" };
        let query = text("/requestURI");
        let parameters = query.split_once('?').map_or("", |(_, query)| query).split('&');
        let number = parameters.filter_map(|one| one.split_once('=')).find(|(name, _)| *name == NUMBER);
        let impersonated = text("/impersonatedUser/username");
        Self {
            id: text("/auditID"),
            user: if impersonated.is_empty() { text("/user/username") } else { impersonated },
            agent: text("/userAgent"),
            verb: text("/verb"),
            resource: text("/objectRef/resource") + separator + &subresource,
            namespace: text("/objectRef/namespace"),
            name: text("/objectRef/name"),
            number: number.and_then(|(_, number)| number.parse().ok()),
            code: event.pointer("/responseStatus/code").and_then(Value::as_u64).map(|code| code.try_into().unwrap()),
            request: event["requestObject"].clone(),
            response: event["responseObject"].clone(),
            received: text("/requestReceivedTimestamp"),
        }
    }
}

/// The log from some moment on.
pub(crate) struct AuditLog {
    file: BufReader<File>,
}

impl AuditLog {
    /// Restarts the server so that it logs. The log begins now.
    pub(crate) fn begin(plane: &mut Plane) -> Self {
        plane.control().audit(true);
        plane.control().kill_api_server();
        plane.control().start_api_server();
        let mut file = File::open(plane.control().audit_log()).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        Self { file: BufReader::new(file) }
    }

    /// Returns the writes since the last reading, in the order of their arrival.
    pub(crate) fn read(&mut self) -> Vec<Write> {
        read(&mut self.file)
    }
}

/// Reads a log. The last line of a server that was killed may be cut off, and go on with the first one of the next.
pub(crate) fn read(log: &mut impl BufRead) -> Vec<Write> {
    let (mut writes, mut known) = (Vec::<Write>::new(), HashMap::new());
    for line in log.lines().map(Result::unwrap) {
        let whole = &line[line.rfind(START).unwrap_or(line.len())..];
        let Ok(event) = serde_json::from_str::<Value>(whole) else { continue };
        let write = Write::received(&event);
        let at = *known.entry(event["auditID"].as_str().unwrap().to_owned()).or_insert(writes.len());
        if at == writes.len() { writes.push(write) } else { writes[at] = write }
    }
    writes
}

/// How many writes there are of each kind.
#[derive(Default)]
pub(crate) struct Tally(BTreeMap<(String, String, Option<u16>), usize>);

impl<'w> FromIterator<&'w Write> for Tally {
    fn from_iter<I: IntoIterator<Item = &'w Write>>(writes: I) -> Self {
        let mut tally = Self::default();
        for write in writes {
            *tally.0.entry((write.verb.clone(), write.resource.clone(), write.code)).or_default() += 1;
        }
        tally
    }
}

/// A line for each verb, resource and status.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((verb, resource, code), count) in &self.0 {
            let code = code.map_or("no answer".to_owned(), |code| code.to_string());
            writeln!(f, "{count:7}  {verb} {resource}: {code}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(id: &str, stage: &str, code: Option<u16>) -> String {
        let object = json!({ "resource": "foos", "subresource": "status", "namespace": "n", "name": "a" });
        let mut event = json!({ "auditID": id, "stage": stage, "verb": "patch", "objectRef": object });
        event["requestURI"] = json!("/apis/g/v1/namespaces/n/foos/a/status?dryRun=All&audit=7");
        event["user"] = json!({ "username": "admin" });
        event["impersonatedUser"] = json!({ "username": "sample" });
        event["responseStatus"] = code.map_or(Value::Null, |code| json!({ "code": code }));
        event.to_string().replacen('{', START, 1)
    }

    #[test]
    fn a_write_without_an_answer_is_one_and_a_line_that_was_cut_off_is_none() {
        let received = ["a", "b"].map(|id| event(id, "RequestReceived", None) + "\n");
        let answered = ["a", "b"].map(|id| event(id, "ResponseComplete", Some(409)));
        let log = received.concat() + &answered[1][..99] + &answered[0] + "\n" + &answered[1][..30];
        let writes = read(&mut log.as_bytes());
        let told: Vec<_> = writes.iter().map(|write| (write.code, write.number, write.is_made())).collect();
        assert_eq!(told, [(Some(409), Some(7), false), (None, Some(7), false)]);
        assert_eq!((&*writes[0].user, &*writes[0].resource), ("sample", "foos/status"));
        let tally = writes.iter().collect::<Tally>().to_string();
        assert_eq!(tally, "      1  patch foos/status: no answer\n      1  patch foos/status: 409\n");
    }
}
