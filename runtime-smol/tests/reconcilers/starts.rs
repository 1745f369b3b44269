//! Starts whose sources are denied, or not there yet.

use crate::reconcilers::support::{Log, SOON, Stage};
use core::task::Poll;
use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch::controller::{Controller, ControllerHandle, Outcome, Reconciler, RunError, Source, run_all};
use listwatch::decode::MetadataOnly;
use listwatch::informers::StreamStatus;
use listwatch::request::{Request, RequestId};
use listwatch::time::Instant;
use listwatch::transport::{Incoming, ListerWatcher, ReadContext, ResponseHead};
use listwatch::{Client, Clock, Executor, InformerHandle, Informers, Resource, World, run};
use listwatch_tests::sim::{ApiServer, Feed, Trace, Troubles};
use serde_json::json;

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(86_400);

fn foos() -> Resource {
    Resource::named("example.com/v1/foos").unwrap()
}

/// A server that refuses requests until a moment.
struct Refusing {
    clock: Clock,
    status: u16,
    until: Instant,
    feed: Feed,
    refused: Option<(RequestId, u32)>,
}

impl ListerWatcher for Refusing {
    fn open(&mut self, id: RequestId, request: &Request) {
        match self.clock.now() < self.until {
            true => self.refused = Some((id, 0)),
            false => self.feed.open(id, request),
        }
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some((id, reads)) = &mut self.refused else { return self.feed.poll_read(context, buf) };
        let body = json!({ "kind": "Status", "code": self.status, "message": "not for you" }).to_string();
        *reads += 1;
        Poll::Ready(match reads {
            1 => Incoming::Head { id: *id, head: ResponseHead { status: self.status, ..ResponseHead::default() } },
            2 => {
                buf[..body.len()].copy_from_slice(body.as_bytes());
                Incoming::Data { id: *id, len: body.len() }
            }
            _ => Incoming::End { id: self.refused.take().unwrap().0 },
        })
    }

    fn abort(&mut self, id: RequestId) {
        self.refused = None;
        self.feed.abort(id);
    }
}

/// Foos in the namespaces `open` and `closed`; the latter, and each other resource, is refused.
struct Site {
    clock: Clock,
    informers: Informers,
    log: Log,
}

impl Site {
    fn new(status: u16, refused_for: Duration) -> Self {
        let clock = Clock::simulated();
        let server = ApiServer::new(foos().path(), Trace::new(false));
        for namespace in ["open", "closed"] {
            let path = format!("{}/a", foos().in_namespace(namespace).path());
            server.with(|inside| inside.store.put(clock.now(), &path, json!({ "wanted": 1 })));
        }
        let client = Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(200, *b"{}"))), clock.clone());
        let (now, until) = (clock.clone(), clock.now() + refused_for);
        let world = World::from_parts(clock.clone(), client, move |resource| {
            let is_open = resource.path().ends_with("/namespaces/open/foos");
            let until = if is_open { Instant::ZERO } else { until };
            Box::new(Refusing { clock: now.clone(), status, until, feed: Feed::new(&server), refused: None })
        });
        Self { clock, informers: Informers::new(world), log: Log::default() }
    }

    fn informer(&self, namespaces: &[&str]) -> InformerHandle<MetadataOnly> {
        self.informers.informer_in(foos(), namespaces.iter().copied())
    }

    fn controller(&self, source: impl Into<Source<MetadataOnly>>) -> Reconciler<MetadataOnly> {
        let said = self.log.clone();
        let controller = Controller::new("test", &self.informers).reconciles(source);
        controller.on_report(move |_, report| said.note(report))
    }

    /// Runs it for this time, or until it ends.
    fn play(&self, controller: Reconciler<MetadataOnly>, time: Duration) -> Result<(), RunError> {
        let (noted, executor) = (self.log.clone(), Executor::new());
        let controller = controller.calls(async move |_cx, key| {
            noted.note(format!("reconcile {key}"));
            Ok(Outcome::Done)
        });
        let handle = controller.handle();
        let controller = executor.spawn(controller.future());
        run(&self.clock, &executor, async {
            self.clock.sleep(time).await;
            handle.stop();
            controller.await
        })
    }
}

fn names(streams: &[StreamStatus]) -> Vec<String> {
    streams.iter().map(|stream| stream.name.to_string()).collect()
}

#[test]
fn a_controller_may_start_without_a_denied_namespace() {
    let site = Site::new(403, NEVER);
    let both = site.informer(&["open", "closed"]);
    assert_eq!(site.play(site.controller(Source::from(&both).start_without_denied()), SOON), Ok(()));
    let told = site.log.take();
    let failed = "foos.example.com in namespace closed: GET /apis/example.com/v1/namespaces/closed/foos";
    assert!(told[..3].iter().any(|line| line.starts_with(failed)), "{told:#?}");
    let told = told.iter().filter(|line| !line.starts_with(failed)).collect::<Vec<_>>();
    assert_eq!(told, ["started; its sources have synced", "reconcile open/a", "ended; every key is done"]);
}

#[test]
fn a_namespace_that_is_allowed_later_joins_the_others() {
    let site = Site::new(403, Duration::from_secs(60));
    let both = site.informer(&["open", "closed"]);
    let controller = site.controller(Source::from(&both).start_without_denied());
    assert_eq!(site.play(controller, Duration::from_secs(300)), Ok(()));
    let told = site.log.take();
    let place = |begin: &str| told.iter().position(|line| line.starts_with(begin));
    assert!(place("reconcile open/a") < place("reconcile closed/a"), "{told:#?}");
    assert!(place("foos.example.com in namespace closed: recovered after ").is_some(), "{told:#?}");
}

#[test]
fn a_controller_of_which_every_namespace_is_denied_does_not_start() {
    let site = Site::new(403, NEVER);
    let source = Source::from(&site.informer(&["closed"])).start_without_denied();
    let ended = site.play(site.controller(source), SOON);
    assert!(matches!(&ended, Err(RunError::NotSynced { streams }) if streams.len() == 1), "{ended:?}");
}

#[test]
fn a_denied_start_names_each_source_that_has_not_synced() {
    let site = Site::new(403, NEVER);
    let (both, parts) =
        (site.informer(&["open", "closed"]), site.informers.informer_of(Resource::new("/api/v1/parts")));
    let controller = site.controller(&both).maps(&parts, |_: &listwatch::object::ObjectHandle<MetadataOnly>, _| {});
    let begun = site.clock.now();
    let error = site.play(controller, SOON).unwrap_err();
    let RunError::NotSynced { streams } = &error else { panic!("{error}") };
    assert_eq!(names(streams), ["foos.example.com in namespace closed", "parts"]);
    let text = "foos.example.com in namespace closed did not sync: status 403: not for you\n\
                help: check with `kubectl auth can-i watch foos.example.com -n closed`\n\
                parts did not sync: status 403: not for you\n\
                help: check with `kubectl auth can-i watch parts -A`";
    assert_eq!(error.to_string(), text);
    assert_eq!(site.log.take(), ["ended before its sources had synced"]);
    assert_eq!(site.clock.now(), begun + SOON);
}

#[test]
fn a_controller_waits_for_a_kind_that_is_not_installed_yet() {
    let site = Site::new(404, Duration::from_secs(60));
    let closed = site.informer(&["closed"]);
    assert_eq!(site.play(site.controller(&closed), Duration::from_secs(120)), Ok(()));
    let told = site.log.take();
    let [missing, rest @ ..] = &told[..] else { panic!("{told:?}") };
    let hint = "is the CRD installed, and are version and plural right? \
                check with `kubectl api-resources --api-group=example.com`";
    assert!(missing.ends_with(hint), "{missing}");
    let recovered = "foos.example.com in namespace closed: recovered after ";
    let (recovered, rest): (Vec<_>, Vec<_>) = rest.iter().partition(|line| line.starts_with(recovered));
    assert_eq!(recovered.len(), 1, "{told:#?}");
    let started = "started; its sources have synced after 97s";
    assert_eq!(rest, [started, "reconcile closed/a", "ended; every key is done"]);
}

#[test]
fn a_kind_that_is_never_installed_ends_the_start_at_its_deadline() {
    let site = Site::new(404, NEVER);
    let closed = site.informer(&["closed"]);
    let ended = site.play(site.controller(&closed).sync_within(SOON), 2 * SOON);
    let text = "foos.example.com in namespace closed did not sync: status 404: not for you\n\
                help: is the CRD installed, and are version and plural right? \
                check with `kubectl api-resources --api-group=example.com`";
    assert_eq!(ended.unwrap_err().to_string(), text);
}

#[test]
fn controllers_with_different_clocks_are_refused() {
    for clocks in [[Clock::simulated(), Clock::real()], [Clock::real(), Clock::simulated()]] {
        let handles = [ControllerHandle::default(), ControllerHandle::default()];
        let stages = clocks.map(|clock| Stage::with(clock, Troubles::NONE));
        let controllers = stages.iter().zip(["a", "b"]).zip(&handles).map(|((stage, name), handle)| {
            stage.put(name);
            let controller = Controller::new(name, &stage.informers).reconciles(&stage.foos).keys(handle);
            controller.on_report(|_, _| {}).calls(async |_cx, _key| {
                handles.iter().for_each(ControllerHandle::stop);
                Ok(Outcome::Done)
            })
        });
        let mistake = "the controllers a and b have different clocks; give their worlds one clock";
        assert_eq!(run_all(controllers), Err(RunError::Config(mistake.to_owned())));
    }
}
