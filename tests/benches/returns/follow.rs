//! Our side: an informer with the library's defaults, over HTTP. Its lines are those of `peers follow`.

use core::task::{Context, Poll};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, TransportErrorKind};
use listwatch_core::{Driver, Event, Informer, InformerConfig, Instant, ListerWatcher, Resource};
use listwatch_tests::unpark::unpark_this_thread;
use listwatch_transport_http::{ClusterOptions, HttpTransport};
use serde_json::Value;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;
use std::{io, process, thread};

/// Follows the ConfigMaps of a namespace until the standard input ends.
pub(crate) fn follow(kubeconfig: &Path, namespace: &str) {
    thread::spawn(|| {
        let _ended = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0);
    });
    let mut config = InformerConfig::default();
    config.reflector.seed = Some(RandomState::new().hash_one(process::id()));
    let maps = Resource::named("v1/configmaps").unwrap().in_namespace(namespace);
    let transport = ClusterOptions::new().kubeconfig(kubeconfig).unwrap().transport().unwrap();
    let mut driver =
        Driver::new(Informer::<Value>::new(maps, config), Counted { inner: transport, is_answered: false });
    driver.informer_mut().start(Instant::ZERO);
    let (began, waker) = (now(), unpark_this_thread());
    let mut cx = Context::from_waker(&waker);
    loop {
        let time = Instant::ZERO + began.elapsed();
        match driver.poll(time, &mut cx) {
            Poll::Ready(Event::Synced) => println!("synced"),
            Poll::Ready(event) => tell(&event),
            Poll::Pending => {
                let due = driver.poll_timeout().map(|due| due.saturating_since(time));
                thread::park_timeout(due.unwrap_or(Duration::MAX));
            }
        }
    }
}

fn tell(event: &Event<Value>) {
    let deleted = matches!(event, Event::Deleted { .. });
    let object = event.object().filter(|_| !deleted);
    if let Some(number) = object.and_then(|object| object["data"]["number"].as_str()) {
        println!("told {number}");
    }
}

/// Says what becomes of each request.
struct Counted {
    inner: HttpTransport,
    is_answered: bool,
}

impl ListerWatcher for Counted {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.is_answered = false;
        self.inner.open(id, request);
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let polled = self.inner.poll_read(turn, buf);
        match &polled {
            Poll::Ready(Incoming::Head { head, .. }) => {
                self.is_answered = true;
                println!("answered {}", head.status);
            }
            Poll::Ready(Incoming::Failed { error, .. }) if !self.is_answered => {
                println!("{}", if error.kind == TransportErrorKind::Refused { "refused" } else { "failed" });
            }
            _ => {}
        }
        polled
    }

    fn abort(&mut self, id: RequestId) {
        self.inner.abort(id);
    }
}

#[expect(clippy::disallowed_methods, reason = "a real server keeps real time")]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}
