//! Makes tapes of a capture, and prints what an image that follows one has to print: `tapes CAPTURE TAPE HTTP`. The second
//! tape has the same answers as the bytes of HTTP/1.1.
//!
//! The lines are those of the heap's informer with the same projection.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::MultiGzDecoder;
use listwatch_bare_metal::line::{KEY, Line, Object, Shown, some};
use listwatch_bare_metal::tape::{HEAD, Tape};
use listwatch_bare_metal::told::{print_cache, print_change, print_index};
use listwatch_bare_metal::transport::{Player, driver, follow};
use listwatch_core::Indexer;
use listwatch_core::decode::ProjectedJson;
use listwatch_core::informer::EventOf;
use listwatch_core::storage::Heap;
use serde_json::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

/// A recorded request and its answer.
#[derive(Clone, Default)]
struct Exchange {
    is_watch: bool,
    status: u16,
    ended: bool,
    body: Vec<u8>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [capture, tape, http] = &paths[..] else { return Err("tapes CAPTURE TAPE HTTP".into()) };
    let answers = answers(&exchanges(capture)?)?;
    store(tape, &answers)?;
    store(http, &over_http(&answers)?)?;
    Ok(print(Tape::new(bytes(&answers)?.leak()))?)
}

/// Writes a tape as an image reads it: its length, and its answers.
fn store(path: &str, answers: &[Exchange]) -> Result<(), Box<dyn Error>> {
    let bytes = bytes(answers)?;
    Ok(std::fs::write(path, [&u32::try_from(bytes.len())?.to_le_bytes(), &bytes[..]].concat())?)
}

/// Prints what an informer tells, and its cache at the end.
fn print(tape: Tape) -> Result<(), &'static str> {
    let mut cache = Indexer::<Object>::new();
    let app = cache.add_index(|object, emit| emit(object.app()));
    let node = cache.add_index(|object, emit| some(object.node()).into_iter().for_each(emit));
    let mut driver = driver::<_, _, _, Heap>(Player::with_large(tape), ProjectedJson::<Line, KEY>::new(), cache);
    let print = |told: &EventOf<Object>| {
        print_change(told);
        Ok(())
    };
    follow(&mut driver, print, |_| Ok(()))?;
    let cache = driver.informer().cache();
    print_cache(cache.iter());
    print_index("app", cache, app);
    print_index("node", cache, node);
    Ok(())
}

/// The exchanges of a capture, in the order of their requests.
fn exchanges(capture: &str) -> Result<BTreeMap<u64, Exchange>, Box<dyn Error>> {
    let mut exchanges = BTreeMap::<u64, Exchange>::new();
    for line in BufReader::new(MultiGzDecoder::new(File::open(capture)?)).lines() {
        let record: Value = serde_json::from_str(&line?)?;
        let exchange = exchanges.entry(record["id"].as_u64().ok_or("a record without an id")?).or_default();
        if let Some(path) = record["request"]["path"].as_str() {
            exchange.is_watch = path.contains("watch=");
        }
        if let Some(status) = record["response"]["status"].as_u64() {
            exchange.status = u16::try_from(status)?;
        }
        exchange.body.extend(record["data"].as_str().unwrap_or_default().bytes());
        exchange.body.extend(BASE64_STANDARD.decode(record["base64"].as_str().unwrap_or_default())?);
        exchange.ended |= record["end"] == "eof";
    }
    Ok(exchanges)
}

/// The answers of a tape. A list behind the last watch is left out: nobody would ask for it.
fn answers(exchanges: &BTreeMap<u64, Exchange>) -> Result<Vec<Exchange>, Box<dyn Error>> {
    let last = exchanges.iter().rev().find(|(_, exchange)| exchange.is_watch).ok_or("a capture without a watch")?.0;
    let mut answers = Vec::new();
    let mut pages = Vec::new();
    for exchange in exchanges.range(..=last).map(|(_, exchange)| exchange) {
        if !exchange.is_watch && exchange.status == 200 {
            let page: Value = serde_json::from_slice(&exchange.body)?;
            let is_last = page["metadata"]["continue"].as_str().is_none_or(str::is_empty);
            pages.push(page);
            if is_last {
                answers.push(Exchange { body: whole(std::mem::take(&mut pages)), ..exchange.clone() });
            }
        } else {
            // Pages that nobody went on with are no list.
            pages.clear();
            answers.push(exchange.clone());
        }
    }
    Ok(answers)
}

/// A list of all items of its pages: a device requests no pages.
fn whole(pages: Vec<Value>) -> Vec<u8> {
    let mut whole = pages.last().cloned().unwrap_or_default();
    let items = |page: &Value| page["items"].as_array().cloned().unwrap_or_default();
    whole["items"] = pages.iter().flat_map(items).collect();
    whole.to_string().into_bytes()
}

/// The same answers, with the bytes of HTTP/1.1 for their bodies: counted and in chunks by turns. Where one broke off, the
/// rest is missing.
fn over_http(answers: &[Exchange]) -> Result<Vec<Exchange>, Box<dyn Error>> {
    let framed = |(number, answer): (usize, &Exchange)| {
        let body = if answer.status == 0 { Vec::new() } else { frame(number, answer)? };
        Ok(Exchange { body, ..answer.clone() })
    };
    answers.iter().enumerate().map(framed).collect()
}

fn frame(number: usize, Exchange { status, ended, body, .. }: &Exchange) -> std::io::Result<Vec<u8>> {
    let mut bytes =
        format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 {status} X\r\nAudit-Id: {number:0300}\r\n").into_bytes();
    if number.is_multiple_of(2) {
        write!(bytes, "Content-Length: {}\r\n\r\n", body.len() + usize::from(!ended))?;
        bytes.extend(body);
        return Ok(bytes);
    }
    write!(bytes, "Transfer-Encoding: chunked\r\n\r\n")?;
    for chunk in body.chunks(777) {
        write!(bytes, "{:x};x=y\r\n", chunk.len())?;
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(if *ended { &b"0\r\n\r\n"[..] } else { b"" });
    Ok(bytes)
}

/// The bytes of a tape.
fn bytes(answers: &[Exchange]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    for Exchange { is_watch, status, ended, body } in answers {
        let mut head = [0; HEAD];
        head[0] = if *is_watch { b'W' } else { b'L' };
        head[1] = if *ended { b'.' } else { b'!' };
        head[2..4].copy_from_slice(&status.to_le_bytes());
        head[4..].copy_from_slice(&u32::try_from(body.len())?.to_le_bytes());
        bytes.extend(head);
        bytes.extend(body);
    }
    Ok(bytes)
}
