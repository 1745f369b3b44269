//! Makes a tape of a capture, and prints what an image that follows the tape has to print: `tapes CAPTURE TAPE`.
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
use std::io::{BufRead, BufReader};

/// A recorded request and its answer.
#[derive(Default)]
struct Exchange {
    is_watch: bool,
    status: u16,
    ended: bool,
    body: Vec<u8>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [capture, tape] = &paths[..] else { return Err("tapes CAPTURE TAPE".into()) };
    let answers = answers(&exchanges(capture)?)?;
    std::fs::write(tape, [&u32::try_from(answers.len())?.to_le_bytes(), &answers[..]].concat())?;
    Ok(print(Tape::new(answers.leak()))?)
}

/// Prints what an informer tells, and its cache at the end.
fn print(tape: Tape) -> Result<(), &'static str> {
    let mut cache = Indexer::<Object>::new();
    let app = cache.add_index(|object, emit| emit(object.app()));
    let node = cache.add_index(|object, emit| some(object.node()).into_iter().for_each(emit));
    let mut driver = driver::<_, _, Heap>(Player::with_large(tape), ProjectedJson::<Line, KEY>::new(), cache);
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

/// The bytes of a tape. A list behind the last watch is left out: nobody would ask for it.
fn answers(exchanges: &BTreeMap<u64, Exchange>) -> Result<Vec<u8>, Box<dyn Error>> {
    let last = exchanges.iter().rev().find(|(_, exchange)| exchange.is_watch).ok_or("a capture without a watch")?.0;
    let mut bytes = Vec::new();
    let mut pages = Vec::new();
    for exchange in exchanges.range(..=last).map(|(_, exchange)| exchange) {
        if !exchange.is_watch && exchange.status == 200 {
            let page: Value = serde_json::from_slice(&exchange.body)?;
            let is_last = page["metadata"]["continue"].as_str().is_none_or(str::is_empty);
            pages.push(page);
            if is_last {
                write(&mut bytes, exchange, &whole(std::mem::take(&mut pages)))?;
            }
        } else {
            // Pages that nobody went on with are no list.
            pages.clear();
            write(&mut bytes, exchange, &exchange.body)?;
        }
    }
    Ok(bytes)
}

/// A list of all items of its pages: a device requests no pages.
fn whole(pages: Vec<Value>) -> Vec<u8> {
    let mut whole = pages.last().cloned().unwrap_or_default();
    let items = |page: &Value| page["items"].as_array().cloned().unwrap_or_default();
    whole["items"] = pages.iter().flat_map(items).collect();
    whole.to_string().into_bytes()
}

fn write(bytes: &mut Vec<u8>, exchange: &Exchange, body: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut head = [0; HEAD];
    head[0] = if exchange.is_watch { b'W' } else { b'L' };
    head[1] = if exchange.ended { b'.' } else { b'!' };
    head[2..4].copy_from_slice(&exchange.status.to_le_bytes());
    head[4..].copy_from_slice(&u32::try_from(body.len())?.to_le_bytes());
    bytes.extend(head);
    bytes.extend(body);
    Ok(())
}
