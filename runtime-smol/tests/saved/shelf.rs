//! A server of pods that counts what it sends, and agents that save what they know of it.

use core::task::Poll;
use core::time::Duration;
use listwatch::api::{ApiFn, ApiResponse};
use listwatch::decode::{FromJson, Raw, ToJson};
use listwatch::request::{Request, RequestId, Verb};
use listwatch::saved::SaveTo;
use listwatch::transport::{Incoming, ListerWatcher, ReadContext, ResponseHead, TransportError, TransportErrorKind};
use listwatch::{Client, Clock, Driver, Event, Events, Executor, Informer, InformerConfig, Resource, run};
use listwatch_tests::scratch::Scratch;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard};

/// A server. A clone is the same one.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) version: u64,
    pods: BTreeMap<String, String>,
    /// Each change as the line of a watch, with its version.
    events: Vec<(u64, String)>,
    /// A watch from before this is refused.
    pub(crate) oldest: u64,
    pub(crate) is_away: bool,
    /// The targets of all requests.
    pub(crate) requests: Vec<String>,
    /// How many objects were sent.
    pub(crate) sent: usize,
}

impl State {
    pub(crate) fn put(&mut self, name: &str) {
        self.version += 1;
        let version = self.version;
        let pod = pod(name, version);
        let kind = if self.pods.insert(name.into(), pod.clone()).is_some() { "MODIFIED" } else { "ADDED" };
        self.events.push((version, format!("{{\"type\":\"{kind}\",\"object\":{pod}}}\n")));
    }

    /// A pod whose key alone can be read.
    pub(crate) fn put_undecodable(&mut self, name: &str) {
        self.version += 1;
        let metadata = format!(r#"{{"name":"{name}","namespace":"web","resourceVersion":"{}","uid":7}}"#, self.version);
        self.pods.insert(name.into(), format!(r#"{{"metadata":{metadata}}}"#));
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.version += 1;
        self.pods.remove(name).unwrap();
        let last = pod(name, self.version);
        self.events.push((self.version, format!("{{\"type\":\"DELETED\",\"object\":{last}}}\n")));
    }

    /// A bookmark of the present version, after a change of another resource.
    pub(crate) fn bookmark(&mut self) {
        self.version += 1;
        let version = self.version;
        let line = format!(r#"{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"{version}"}}}}}}"#);
        self.events.push((version, line + "\n"));
    }

    fn list(&mut self, limit: Option<u32>) -> String {
        let most = limit.map_or(usize::MAX, |limit| limit as usize);
        let items: Vec<_> = self.pods.values().take(most).map(String::as_str).collect();
        self.sent += items.len();
        let more = if items.len() < self.pods.len() { r#","continue":"more""# } else { "" };
        let mut list = format!(r#"{{"metadata":{{"resourceVersion":"{}"{more}}},"items":["#, self.version);
        let _ = write!(list, "{}]}}", items.join(","));
        list
    }
}

fn pod(name: &str, version: u64) -> String {
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"web","uid":"u-{name}","resourceVersion":"{version}"}},"spec":{{"n":{version}}}}}"#
    )
}

impl Shelf {
    pub(crate) fn with(pods: usize) -> Self {
        let shelf = Self::default();
        (0..pods).for_each(|pod| shelf.state().put(&format!("p-{pod:05}")));
        shelf
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The requests since the last call, and how many objects were sent.
    pub(crate) fn asked(&self) -> (Vec<String>, usize) {
        let mut state = self.state();
        (std::mem::take(&mut state.requests), std::mem::take(&mut state.sent))
    }
}

/// A connection to the server.
struct Line {
    shelf: Shelf,
    open: Option<Open>,
}

struct Open {
    id: RequestId,
    verb: Verb,
    has_begun: bool,
    body: Vec<u8>,
    /// The version up to which the watch has sent everything.
    version: u64,
}

impl ListerWatcher for Line {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.shelf.state().requests.push(request.to_string());
        self.open = Some(Open { id, verb: request.verb.clone(), has_begun: false, body: Vec::new(), version: 0 });
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let again = Incoming::Idle { until: Some(context.now + Duration::from_secs(1)) };
        let Some(open) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let (id, mut state) = (open.id, self.shelf.state());
        if state.is_away {
            drop(state);
            self.open = None;
            return Poll::Ready(Incoming::Failed { id, error: TransportError::new(TransportErrorKind::Refused, "") });
        }
        if !std::mem::replace(&mut open.has_begun, true) {
            return Poll::Ready(Incoming::Head { id, head: open.begin(&mut state) });
        }
        if let Verb::Watch { .. } = open.verb {
            let seen = state.events.partition_point(|(version, _)| *version <= open.version);
            let news = state.events[seen..].to_vec();
            for (version, line) in news {
                state.sent += usize::from(!line.contains("BOOKMARK"));
                open.version = version;
                open.body.extend_from_slice(line.as_bytes());
            }
        }
        let len = buf.len().min(open.body.len());
        buf[..len].copy_from_slice(&open.body[..len]);
        open.body.drain(..len);
        match (len, &open.verb) {
            (0, Verb::Watch { .. }) => Poll::Ready(again),
            (0, Verb::List { .. }) => {
                drop(state);
                self.open = None;
                Poll::Ready(Incoming::End { id })
            }
            _ => Poll::Ready(Incoming::Data { id, len }),
        }
    }

    fn abort(&mut self, _: RequestId) {
        self.open = None;
    }
}

impl Open {
    fn begin(&mut self, state: &mut State) -> ResponseHead {
        match &self.verb {
            Verb::List { limit, .. } => self.body = state.list(*limit).into_bytes(),
            Verb::Watch { resource_version, .. } => {
                self.version = resource_version.as_deref().unwrap_or("0").parse().unwrap();
                if self.version < state.oldest {
                    self.body = b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n".to_vec();
                    self.version = u64::MAX;
                }
            }
        }
        ResponseHead { status: 200, ..ResponseHead::default() }
    }
}

/// What one run of an agent was told, and how it ended.
pub(crate) struct Ran {
    pub(crate) told: Vec<String>,
    pub(crate) problems: Vec<String>,
    pub(crate) status: String,
    pub(crate) pods: Vec<String>,
}

/// An agent that saves its pods.
pub(crate) struct Agent {
    pub(crate) file: Scratch,
    pub(crate) shelf: Shelf,
    pub(crate) server: &'static str,
    pub(crate) authority: &'static str,
    pub(crate) resource: Resource,
    /// The uid of its `kube-system`: empty if the server does not tell it, none if nobody asks.
    pub(crate) cluster: Option<&'static str>,
}

/// What an agent was told of its file.
pub(crate) type Problems = Arc<Mutex<Vec<String>>>;

impl Agent {
    pub(crate) fn new(shelf: &Shelf) -> Self {
        let (file, resource) = (Scratch::path(".json"), Resource::new("/api/v1/pods"));
        Self { file, shelf: shelf.clone(), server: "https://10.0.0.1", authority: "ab", resource, cluster: None }
    }

    fn client(&self, clock: &Clock) -> Option<Client> {
        let (uid, clock) = (self.cluster?, clock.clone());
        let namespace = format!(r#"{{"metadata":{{"uid":"{uid}"}}}}"#);
        let status = if uid.is_empty() { 403 } else { 200 };
        Some(Client::new(ApiFn::new(move |_| Ok(ApiResponse::new(status, namespace.as_bytes()))), clock))
    }

    /// The events of its informer of `T`.
    pub(crate) fn events<T>(&self, clock: &Clock, problems: &Problems) -> Events<T, impl ListerWatcher + use<T>>
    where
        T: FromJson + ToJson + Send + Sync + 'static,
    {
        let noted = Arc::clone(problems);
        let save = SaveTo::new(self.file.as_ref())
            .of_server(self.server, self.authority, self.client(clock))
            .on_problem(move |problem| noted.lock().unwrap().push(problem.to_string()));
        let mut config = InformerConfig::default();
        config.reflector.watch_list = false;
        config.reflector.page_size = None;
        let informer = Informer::<T>::new(self.resource.clone(), config);
        let driver = Driver::new(informer, Line { shelf: self.shelf.clone(), open: None });
        Events::start_saved(driver, clock.clone(), save)
    }

    /// Runs the program until `scenario` is over, and ends it in order.
    pub(crate) fn run(&self, scenario: impl AsyncFnOnce(&Clock)) -> Ran {
        let (clock, problems) = (Clock::simulated(), Problems::default());
        let mut events = self.events::<Raw>(&clock, &problems);
        let mut told = Vec::new();
        let follow = async {
            while let Some(event) = events.next().await {
                told.push(described(&event));
            }
        };
        run(&clock, &Executor::new(), smol::future::or(scenario(&clock), follow));
        let informer = events.driver().informer();
        let status = informer.status(clock.now()).to_string();
        let mut pods: Vec<_> = informer.cache().iter().map(|pod| pod.as_str().to_owned()).collect();
        pods.sort();
        drop(events);
        let problems = problems.lock().unwrap().clone();
        Ran { told, problems, status, pods }
    }

    /// Runs the program for some seconds.
    pub(crate) fn run_for(&self, seconds: u64) -> Ran {
        self.run(async |clock| clock.sleep(Duration::from_secs(seconds)).await)
    }

    /// The pods that the server has.
    pub(crate) fn truth(&self) -> Vec<String> {
        self.shelf.state().pods.values().cloned().collect()
    }
}

fn described(event: &Event<Raw>) -> String {
    match event {
        Event::Added { object, initial: true } => format!("initial {}", object.meta().name()),
        Event::Added { object, .. } => format!("added {}", object.meta().name()),
        Event::Updated { new, .. } | Event::Recreated { new, .. } => format!("updated {}", new.meta().name()),
        Event::Deleted { object, .. } => format!("deleted {}", object.meta().name()),
        Event::Synced => "synced".into(),
        Event::Failed(report) => format!("failed {}", report.operation),
        event => format!("{event:?}"),
    }
}
