//! The exchanges of a capture, one by one.

use listwatch_core::request::Request;
use listwatch_core::transport::ResponseHead;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// A request and its answer, as they were recorded.
#[derive(Default)]
pub(crate) struct Exchange {
    pub(crate) target: String,
    pub(crate) accept: String,
    pub(crate) head: ResponseHead,
    pub(crate) body: Vec<String>,
    /// Whether the answer ended as it should.
    pub(crate) whole: bool,
    /// How long it took.
    pub(crate) millis: u64,
    start: u64,
}

impl Exchange {
    pub(crate) fn request(&self) -> Request {
        Request::parse(&self.target)
    }

    fn read(&mut self, record: &Value) {
        let t = record["t"].as_u64().unwrap();
        if let Some(request) = record.get("request") {
            self.target = text(&request["path"]);
            self.accept = text(&request["headers"]["Accept"]);
            self.start = t;
        }
        if let Some(response) = record.get("response") {
            let status = response["status"].as_u64().unwrap().try_into().unwrap();
            self.head = ResponseHead::from_headers(status, |name| response["headers"][name].as_str());
        }
        self.body.extend(record["data"].as_str().map(str::to_owned));
        self.whole |= record["end"] == "eof";
        self.millis = t - self.start;
    }
}

/// All of a gzipped capture, by their numbers.
pub(crate) fn exchanges(path: &Path) -> BTreeMap<u64, Exchange> {
    let mut records = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut records).unwrap();
    let mut exchanges = BTreeMap::<u64, Exchange>::new();
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if let Some(id) = record["id"].as_u64() {
            assert!(record.get("base64").is_none(), "this capture is text");
            exchanges.entry(id).or_default().read(&record);
        }
    }
    exchanges
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
