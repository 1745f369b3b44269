//! Prometheus as a process, and its HTTP API.

use crate::prometheus::http::{classic, get};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// One for each text format.
pub(crate) const JOBS: [&str; 2] = ["openmetrics", "classic"];

pub(crate) struct Prometheus {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Prometheus {
    /// Scrapes the program every two seconds: on a busy machine, an answer takes more than one.
    pub(crate) fn start(program: SocketAddr) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("prometheus-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let classic = classic(program);
        let job = |name, target| format!("- job_name: {name}\n  static_configs: [{{targets: ['{target}']}}]\n");
        let [open, old] = JOBS;
        let config = format!(
            "global: {{scrape_interval: 2s, scrape_timeout: 2s}}\nscrape_configs:\n{}{}",
            job(open, program),
            job(old, classic)
        );
        fs::write(folder.join("prometheus.yml"), config).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let server = Self { child, address, folder };
        let begun = Instant::now();
        while !matches!(get(address, "/-/ready", "*/*"), Ok((200, _))) {
            assert!(begun.elapsed() < Duration::from_secs(30), "Prometheus does not start: {}", server.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// The values of an instant query, with their labels.
    pub(crate) fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let answer = self.api(&format!("query?query={}", escaped(query)));
        let results = answer["result"].as_array().unwrap_or_else(|| panic!("{query}: {answer}"));
        let value = |result: &Value| result["value"][1].as_str().unwrap().parse().unwrap();
        results.iter().map(|result| (result["metric"].clone(), value(result))).collect()
    }

    /// The value of a query that has one.
    pub(crate) fn number(&self, query: &str) -> f64 {
        match &*self.query(query) {
            [(_, value)] => *value,
            other => panic!("{query}: {other:?}"),
        }
    }

    /// The names of the series of a job.
    pub(crate) fn names(&self, job: &str) -> Vec<String> {
        let matched = escaped(&format!("{{job=\"{job}\"}}"));
        let names = self.api(&format!("label/__name__/values?match[]={matched}"));
        let names = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
        // Those are Prometheus's own.
        names.filter(|name| name != "up" && !name.starts_with("scrape_")).collect()
    }

    /// The bounds of a histogram of a job, as they are spelled.
    pub(crate) fn bounds(&self, job: &str, histogram: &str) -> BTreeSet<String> {
        let matched = escaped(&format!("{histogram}_bucket{{job=\"{job}\"}}"));
        let bounds = self.api(&format!("label/le/values?match[]={matched}"));
        bounds.as_array().unwrap().iter().map(|bound| bound.as_str().unwrap().to_owned()).collect()
    }

    /// The type and the help of each family of a job.
    pub(crate) fn metadata(&self, job: &str) -> BTreeMap<String, (String, String)> {
        let target = escaped(&format!("{{job=\"{job}\"}}"));
        let metadata = self.api(&format!("targets/metadata?match_target={target}"));
        let text = |family: &Value, of: &str| family[of].as_str().unwrap().to_owned();
        let families = metadata.as_array().unwrap().iter();
        families.map(|it| (text(it, "metric"), (text(it, "type"), text(it, "help")))).collect()
    }

    /// Its own series whose names begin so.
    pub(crate) fn own_counters(&self, prefix: &str) -> BTreeMap<String, f64> {
        let (_, text) = get(self.address, "/metrics", "text/plain").unwrap();
        let series = text.lines().filter(|line| line.starts_with(prefix)).filter_map(|line| line.rsplit_once(' '));
        series.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
    }

    /// Ends it, and returns what it warned of.
    pub(crate) fn end(self) -> Vec<String> {
        let log = self.log();
        let troubles = log.lines().filter(|line| line.contains("level=warn") || line.contains("level=error"));
        troubles.map(str::to_owned).collect()
    }

    fn api(&self, call: &str) -> Value {
        let (status, body) = get(self.address, &format!("/api/v1/{call}"), "application/json").unwrap();
        assert_eq!(status, 200, "{call}: {body}");
        serde_json::from_str::<Value>(&body).unwrap()["data"].clone()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _has_ended = self.child.kill();
        let _status = self.child.wait();
        let _remains = fs::remove_dir_all(&self.folder);
    }
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}
