//! Lists of pods of any length, about 10 KB a pod, written out without being held in memory.

use std::io::{self, Write};
use std::ops::Range;

/// A pod as an API server stores it, managed fields included, with four places to fill in.
const TEMPLATE: &str = include_str!("../data/pod.template.json");

/// What a pod says by itself, and does not say as an item of a typed list.
const KIND: &str = r#""kind":"Pod","apiVersion":"v1","#;

/// How many pods a page of a capture has: as many as client-go asks for.
const PAGE: usize = 500;

/// How many bytes of a body a record of a capture has at most.
const RECORD: usize = 64 * 1024;

/// So many pods, in a hundred namespaces, in the order of their keys.
///
/// ```
/// use listwatch_tests::pods::Pods;
///
/// let mut list = Vec::new();
/// Pods::new(3).write_list(&mut list)?;
/// assert!((30_000..33_000).contains(&list.len()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pods {
    count: usize,
}

impl Pods {
    /// So many.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { count }
    }

    /// Writes them as one list, with the members that `kubectl get pods -A -o json` prints, in its order.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_list(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(br#"{"apiVersion":"v1","items":["#)?;
        self.write_items(out, 0..self.count, TEMPLATE)?;
        out.write_all(b"],\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"}}\n")
    }

    /// Writes them as the events of a watch, one a line.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_watch_log(self, out: &mut impl Write) -> io::Result<()> {
        for pod in 0..self.count {
            out.write_all(br#"{"type":"ADDED","object":"#)?;
            self.write_pod(out, pod, TEMPLATE)?;
            out.write_all(b"}\n")?;
        }
        Ok(())
    }

    /// Writes a capture in which they are listed, page by page.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_capture(self, out: &mut impl Write) -> io::Result<()> {
        let item = TEMPLATE.replacen(KIND, "", 1);
        out.write_all(b"{\"capture\":1,\"started\":\"2026-11-20T10:41:52Z\"}\n")?;
        for page in 0..self.count.div_ceil(PAGE).max(1) {
            self.write_exchange(out, page, &item)?;
        }
        Ok(())
    }

    /// The request for a page, and its answer.
    fn write_exchange(self, out: &mut impl Write, page: usize, item: &str) -> io::Result<()> {
        let (t, id, first) = (page * 10, page + 1, page * PAGE);
        let token = if first == 0 { String::new() } else { format!("&continue={first}") };
        let target = format!("/api/v1/pods?limit={PAGE}{token}");
        let headers = r#"{"content-type":"application/json"}"#;
        writeln!(out, r#"{{"t":{t},"id":{id},"request":{{"method":"GET","path":"{target}","headers":{{}}}}}}"#)?;
        writeln!(out, r#"{{"t":{t},"id":{id},"response":{{"status":200,"headers":{headers}}}}}"#)?;
        let mut body = Records { out, opening: format!(r#"{{"t":{t},"id":{id},"data":""#), room: None };
        self.write_page(&mut body, first, item)?;
        body.close()?;
        writeln!(out, r#"{{"t":{t},"id":{id},"end":"eof"}}"#)
    }

    /// The page that begins with the pod `first`.
    fn write_page(self, out: &mut impl Write, first: usize, item: &str) -> io::Result<()> {
        let (end, version) = (self.count.min(first + PAGE), version(self.count));
        write!(out, r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}""#)?;
        if end < self.count {
            write!(out, r#","continue":"{end}","remainingItemCount":{}"#, self.count - end)?;
        }
        out.write_all(br#"},"items":["#)?;
        self.write_items(out, first..end, item)?;
        out.write_all(b"]}\n")
    }

    fn write_items(self, out: &mut impl Write, pods: Range<usize>, template: &str) -> io::Result<()> {
        let first = pods.start;
        for pod in pods {
            if pod > first {
                out.write_all(b",")?;
            }
            self.write_pod(out, pod, template)?;
        }
        Ok(())
    }

    fn write_pod(self, out: &mut impl Write, pod: usize, template: &str) -> io::Result<()> {
        // Every second part stands between two marks: it names what is to be filled in.
        for (place, part) in template.split('@').enumerate() {
            match (place % 2, part) {
                (0, text) => out.write_all(text.as_bytes())?,
                (_, "NAME") => write!(out, "pod-{pod:07}")?,
                (_, "NS") => write!(out, "ns-{:03}", pod * 100 / self.count)?,
                (_, "UID") => write!(out, "00000000-0000-4000-8000-{pod:012}")?,
                (_, "RV") => write!(out, "{}", version(pod))?,
                (_, other) => unreachable!("the template has no place {other}"),
            }
        }
        Ok(())
    }
}

/// The resource version of a pod; of the list, that of the pod behind its last.
fn version(pod: usize) -> usize {
    1_000 + pod
}

/// Splits what is written, which has to be ASCII, into the records of a capture.
struct Records<'a, W> {
    out: &'a mut W,
    /// How each record begins.
    opening: String,
    /// How many more bytes go into the open record.
    room: Option<usize>,
}

impl<W: Write> Records<'_, W> {
    fn close(&mut self) -> io::Result<()> {
        if self.room.take().is_some() { self.out.write_all(b"\"}\n") } else { Ok(()) }
    }

    fn write_escaped(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'"' | b'\\' | b'\n')) {
            let (escape, plain) = match part.split_last() {
                Some((b'\n', plain)) => ("\\n", plain),
                Some((b'"', plain)) => ("\\\"", plain),
                Some((b'\\', plain)) => ("\\\\", plain),
                _ => ("", part),
            };
            self.out.write_all(plain)?;
            self.out.write_all(escape.as_bytes())?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Records<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = match self.room {
            Some(room) if room > 0 => room,
            _ => {
                self.close()?;
                self.out.write_all(self.opening.as_bytes())?;
                RECORD
            }
        };
        let len = bytes.len().min(room);
        self.write_escaped(&bytes[..len])?;
        self.room = Some(room - len);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// The bodies of a capture, by request, from the records of its lines.
    fn bodies(capture: &str) -> Vec<(String, Value)> {
        let mut bodies: Vec<(String, String)> = Vec::new();
        for line in capture.lines().skip(1) {
            let record: Value = serde_json::from_str(line).unwrap();
            if let Some(path) = record["request"]["path"].as_str() {
                bodies.push((path.to_owned(), String::new()));
            }
            let (_, body) = bodies.last_mut().unwrap();
            let data = record["data"].as_str().unwrap_or("");
            assert!(data.len() <= RECORD);
            body.push_str(data);
        }
        bodies.into_iter().map(|(path, body)| (path, serde_json::from_str(&body).unwrap())).collect()
    }

    fn key(pod: &Value) -> (String, String) {
        let member = |name: &str| pod["metadata"][name].as_str().unwrap().to_owned();
        (member("namespace"), member("name"))
    }

    #[test]
    fn a_list_is_one_document_of_pods_in_the_order_of_their_keys() {
        let mut list = Vec::new();
        Pods::new(250).write_list(&mut list).unwrap();
        let list: Value = serde_json::from_slice(&list).unwrap();
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 250);
        assert!(items.is_sorted_by(|one, other| key(one) < key(other)));
        for (pod, item) in items.iter().enumerate() {
            assert_eq!(item["metadata"]["resourceVersion"], (1_000 + pod).to_string());
        }
        let uids: BTreeSet<&str> = items.iter().filter_map(|pod| pod["metadata"]["uid"].as_str()).collect();
        assert_eq!(uids.len(), 250);
        assert!(items.iter().all(|pod| pod["kind"] == "Pod" && (9_000..11_000).contains(&pod.to_string().len())));
    }

    #[test]
    fn each_line_of_a_watch_log_adds_a_pod() {
        let mut log = Vec::new();
        Pods::new(3).write_watch_log(&mut log).unwrap();
        let events =
            std::str::from_utf8(&log).unwrap().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let names: Vec<String> = events.map(|event| format!("{} {}", event["type"], key(&event["object"]).1)).collect();
        assert_eq!(names, ["\"ADDED\" pod-0000000", "\"ADDED\" pod-0000001", "\"ADDED\" pod-0000002"]);
    }

    #[test]
    fn the_pages_of_a_capture_lead_to_each_other_and_hold_every_pod_once() {
        let mut capture = Vec::new();
        Pods::new(1_200).write_capture(&mut capture).unwrap();
        let bodies = bodies(std::str::from_utf8(&capture).unwrap());
        let mut expected = "/api/v1/pods?limit=500".to_owned();
        let mut keys = Vec::new();
        for (path, page) in &bodies {
            assert_eq!(*path, expected);
            assert_eq!((&page["kind"], &page["metadata"]["resourceVersion"]), (&"PodList".into(), &"2200".into()));
            let items = page["items"].as_array().unwrap();
            assert!(items.iter().all(|pod| pod["kind"].is_null()));
            keys.extend(items.iter().map(key));
            let left = page["metadata"]["remainingItemCount"].as_u64().unwrap_or(0);
            assert_eq!(keys.len() as u64 + left, 1_200);
            expected =
                format!("/api/v1/pods?limit=500&continue={}", page["metadata"]["continue"].as_str().unwrap_or("-"));
        }
        assert!(expected.ends_with('-') && bodies.len() == 3);
        assert!(keys.len() == 1_200 && keys.is_sorted_by(|one, other| one < other));
    }

    #[test]
    fn none_is_an_empty_list() {
        let (mut list, mut capture) = (Vec::new(), Vec::new());
        Pods::new(0).write_list(&mut list).unwrap();
        Pods::new(0).write_capture(&mut capture).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&list).unwrap()["items"], serde_json::json!([]));
        let bodies = bodies(std::str::from_utf8(&capture).unwrap());
        assert_eq!(bodies.len(), 1);
        assert_eq!(bodies[0].1["items"], serde_json::json!([]));
    }

    /// So a record can end behind any byte.
    #[test]
    fn the_template_is_ascii() {
        assert!(TEMPLATE.is_ascii() && !TEMPLATE.contains(char::is_control) && TEMPLATE.contains(KIND));
    }
}
