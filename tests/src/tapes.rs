//! Captures of a controller, of any length, written out without being held in memory.

use crate::captures;
use serde_json::Value;
use std::io::{self, Write};

/// The collection that is listed and watched.
pub const PODS: &str = "/api/v1/pods";

/// The requests of a group: a watch, and the writes that are made while it is open.
const GROUP: u64 = 10;

/// A list, then watches of it, each with an event before each of nine writes.
///
/// ```
/// use listwatch_tests::tapes::LargeTape;
///
/// let mut tape = Vec::new();
/// LargeTape { requests: 100, padding: 1000 }.write(&mut tape)?;
/// let lines = tape.split(|byte| *byte == b'\n');
/// assert_eq!(lines.filter(|line| line.windows(10).any(|text| text == b"\"request\":")).count(), 100);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LargeTape {
    /// How many requests there are.
    pub requests: u64,
    /// How many bytes are added to each object.
    pub padding: usize,
}

impl LargeTape {
    /// Writes the capture.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, out: &mut impl Write) -> io::Result<()> {
        let out = &mut Sealed { out, line: Vec::new(), lines: 0, bytes: 0 };
        out.write_all(b"{\"capture\":2,\"started\":\"2026-11-20T10:41:52Z\"}\n")?;
        let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#;
        request(out, 0, "GET", PODS, "")?;
        response(out, 0)?;
        writeln!(out, r#"{{"t":0,"id":0,"part":{list}}}"#)?;
        end(out, 0, 0)?;
        for id in 1..self.requests {
            if is_watch(id) {
                request(out, id, "GET", &format!("{PODS}?watch=1&resourceVersion={id}"), "")?;
                response(out, id)?;
            } else {
                self.write_change(out, id)?;
            }
            if is_watch(id + 1) || id + 1 == self.requests {
                end(out, id, watch_of(id))?;
            }
        }
        Ok(())
    }

    /// Returns the path and the body of each write, in their order.
    pub fn writes(self) -> impl Iterator<Item = (String, String)> {
        (1..self.requests).filter(|id| !is_watch(*id)).map(|id| (path(id), body(id)))
    }

    /// An event of the open watch, and a write with its answer.
    fn write_change(self, out: &mut impl Write, id: u64) -> io::Result<()> {
        let watch = watch_of(id);
        write!(out, r#"{{"t":{id},"id":{watch},"line":{{"type":"ADDED","object":"#)?;
        self.write_object(out, id)?;
        writeln!(out, "}}}}")?;
        request(out, id, "PUT", &path(id), &body(id).replace('"', "\\\""))?;
        response(out, id)?;
        write!(out, r#"{{"t":{id},"id":{id},"part":"#)?;
        self.write_object(out, id)?;
        writeln!(out, "}}")?;
        end(out, id, id)
    }

    fn write_object(self, out: &mut impl Write, id: u64) -> io::Result<()> {
        let meta = format!(
            r#""name":"pod-{}","namespace":"web","resourceVersion":"{}","annotations":{{"padding":"{}""#,
            id % 1000,
            id + 1,
            padding(id, self.padding)
        );
        write!(out, r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{{meta}}}}}}}"#)
    }
}

/// A list of pods as a cluster has them, in pages, then a watch with changes of their states, to no end.
///
/// ```
/// use listwatch_tests::tapes::FleetTape;
///
/// let mut tape = Vec::new();
/// FleetTape { pods: 600, bytes: 8_000_000, padding: 0 }.write(&mut tape)?;
/// assert!((8_000_000..8_100_000).contains(&tape.len()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FleetTape {
    /// How many pods there are.
    pub pods: u64,
    /// How many bytes the capture has, at least.
    pub bytes: u64,
    /// How many bytes of an annotation are added to each pod, which compress badly.
    pub padding: usize,
}

/// The pods of a page, and the bytes of a part of it.
const PAGE: u64 = 500;
const PART: usize = 16 * 1024;

impl FleetTape {
    /// Writes the capture.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(self, out: &mut impl Write) -> io::Result<()> {
        let out = &mut Sealed { out, line: Vec::new(), lines: 0, bytes: 0 };
        let recorded = captures::values(&["pods-rollout"]).into_iter().map(|mut event| event["object"].take());
        let recorded: Vec<Value> = recorded.filter(|object| object["kind"] == "Pod").collect();
        let pod = |number: u64, version: u64| {
            let mut pod = recorded[number as usize % recorded.len()].clone();
            let metadata = &mut pod["metadata"];
            metadata["name"] = format!("web-{number:06}-x7k2p").into();
            metadata["uid"] = format!("544d7856-967e-4f5b-9af8-{number:012}").into();
            metadata["resourceVersion"] = version.to_string().into();
            metadata["annotations"]["padding"] = padding(version, self.padding).into();
            pod["status"]["message"] = format!("seen at version {version}").into();
            pod.to_string()
        };
        out.write_all(b"{\"capture\":2,\"started\":\"2026-11-30T03:00:00Z\",\"seed\":1}\n")?;
        let mut id = 0;
        for first in (0..self.pods).step_by(PAGE as usize) {
            id += 1;
            let last = self.pods.min(first + PAGE);
            let token = if first == 0 { String::new() } else { format!("&continue=c{id}") };
            request(out, id, "GET", &format!("{PODS}?limit={PAGE}{token}"), "")?;
            response(out, id)?;
            let next = if last == self.pods { String::new() } else { format!(r#","continue":"c{}""#, id + 1) };
            let metadata = format!(r#"{{"resourceVersion":"{}"{next}}}"#, self.pods);
            let items = (first..last).map(|number| pod(number, number + 1)).collect::<Vec<_>>().join(",");
            let page = format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":[{items}]}}"#);
            for part in page.as_bytes().chunks(PART) {
                out.write_all(format!(r#"{{"t":{id},"id":{id},"part":"#).as_bytes())?;
                out.write_all(part)?;
                out.write_all(b"}\n")?;
            }
            end(out, id, id)?;
        }
        let (begun, watch) = (id, id + 1);
        request(out, watch, "GET", &format!("{PODS}?watch=1&resourceVersion={}", self.pods), "")?;
        response(out, watch)?;
        for change in 0.. {
            if out.bytes >= self.bytes {
                break;
            }
            let (t, number) = (begun + 40 * change, noise(change) % self.pods);
            let pod = pod(number, self.pods + change + 1);
            writeln!(out, r#"{{"t":{t},"id":{watch},"line":{{"type":"MODIFIED","object":{pod}}}}}"#)?;
        }
        Ok(())
    }
}

/// A text that no compression halves again and again.
fn padding(seed: u64, length: usize) -> String {
    let mut state = seed;
    let words = (0..length / 64).map(|_| {
        state = noise(state);
        format!("{state:016x}-of-the-annotations-that-a-controller-has-written-")
    });
    words.collect()
}

fn noise(state: u64) -> u64 {
    state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// Ends each line with its number and its checksum.
struct Sealed<'o, W> {
    out: &'o mut W,
    line: Vec<u8>,
    lines: u64,
    /// The bytes of the whole lines.
    bytes: u64,
}

impl<W: Write> Write for Sealed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(text) = bytes.strip_suffix(b"}\n") else {
            self.line.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        self.line.extend_from_slice(text);
        self.lines += 1;
        write!(self.line, ",\"n\":{}", self.lines)?;
        let crc = format!(",\"crc\":\"{:08x}\"}}\n", crc32fast::hash(&self.line));
        self.out.write_all(&self.line)?;
        self.out.write_all(crc.as_bytes())?;
        self.bytes += (self.line.len() + crc.len()) as u64;
        self.line.clear();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn is_watch(id: u64) -> bool {
    id % GROUP == 1
}

/// The watch that is open while this request is made.
fn watch_of(id: u64) -> u64 {
    id - (id - 1) % GROUP
}

fn path(id: u64) -> String {
    format!("/api/v1/namespaces/web/pods/pod-{}/status", id % 1000)
}

fn body(id: u64) -> String {
    format!(r#"{{"status":{{"observed":{id}}}}}"#)
}

fn request(out: &mut impl Write, id: u64, method: &str, path: &str, body: &str) -> io::Result<()> {
    let body = if body.is_empty() { String::new() } else { format!(r#","body":"{body}""#) };
    writeln!(out, r#"{{"t":{id},"id":{id},"request":{{"method":"{method}","path":"{path}","headers":{{}}{body}}}}}"#)
}

fn response(out: &mut impl Write, id: u64) -> io::Result<()> {
    writeln!(
        out,
        r#"{{"t":{id},"id":{id},"response":{{"status":200,"headers":{{"content-type":"application/json"}}}}}}"#
    )
}

fn end(out: &mut impl Write, t: u64, id: u64) -> io::Result<()> {
    writeln!(out, r#"{{"t":{t},"id":{id},"end":"eof"}}"#)
}
