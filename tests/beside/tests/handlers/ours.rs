//! Our informer and its subscribers, over the answers of an exchange.

use crate::handlers::cast::{Act, Cast, Habit, Handler, What};
use crate::handlers::differences;
use crate::handlers::exchange::{Exchange, Player};
use crate::handlers::told::{Notification, Told};
use listwatch_core::cache::{Indexer, Store, StoreWriter};
use listwatch_core::decode::MetadataOnly;
use listwatch_core::informer::{Pumped, SharedDriver, Subscriber, Subscription};
use listwatch_core::object::ObjectHandle;
use listwatch_core::sync::StdLock;
use listwatch_core::time::earliest;
use listwatch_core::{Informer, InformerConfig, Instant, informer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

/// What ours makes of an exchange.
pub(crate) fn tell(exchange: &Exchange, config: InformerConfig, cast: &Cast) -> Told {
    let mut stage = Stage::new(exchange, config, cast);
    let (before, script): (Vec<Act>, Vec<Act>) = cast.script.iter().copied().partition(|act| act.at.is_none());
    before.iter().for_each(|act| stage.act(act.what));
    stage.driver.informer_mut().start(Instant::ZERO);
    for act in script {
        stage.advance(act.at.unwrap_or_default());
        stage.act(act.what);
    }
    stage.finish()
}

type Pod = ObjectHandle<MetadataOnly>;

/// So few changes that subscribers hold the informer back, and are behind, in most exchanges.
const LOG_LIMIT: usize = 4;

struct Stage<'a> {
    driver: SharedDriver<MetadataOnly, Player<'a>>,
    store: Store<MetadataOnly>,
    cast: &'a Cast,
    subscribers: Vec<Option<Member>>,
    informer_task: Arc<Task>,
    now: Instant,
    told: Told,
}

/// A subscriber and its task.
struct Member {
    subscriber: Subscriber<Pod, StdLock>,
    task: Arc<Task>,
}

/// A task runs again only if it was woken or a time is due, so a wake-up that is lost is seen.
struct Task {
    is_woken: AtomicBool,
}

impl Task {
    fn new() -> Arc<Self> {
        Arc::new(Self { is_woken: AtomicBool::new(true) })
    }

    fn take_wake_up(&self) -> bool {
        self.is_woken.swap(false, Relaxed)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Relaxed);
    }
}

impl<'a> Stage<'a> {
    fn new(exchange: &'a Exchange, config: InformerConfig, cast: &'a Cast) -> Self {
        let writer = StoreWriter::with_log_limit(Indexer::new(), LOG_LIMIT);
        let store = writer.store();
        let informer = Informer::with_cache(exchange.resource.clone(), config, writer);
        let driver = SharedDriver::new(informer, Player::new(exchange));
        let handlers = vec![Vec::new(); cast.handlers.len()];
        let told = Told { handlers, synced: Some(Vec::new()), ..Told::default() };
        let subscribers = cast.handlers.iter().map(|_| None).collect();
        Self { driver, store, cast, subscribers, informer_task: Task::new(), now: Instant::ZERO, told }
    }

    fn act(&mut self, what: What) {
        match what {
            What::Join(number) => {
                let subscription = subscription(self.cast, &self.cast.handlers[number]);
                let subscriber = self.store.subscribe(self.now, subscription);
                self.subscribers[number] = Some(Member { subscriber, task: Task::new() });
            }
            What::Leave(number) => {
                self.read(number, u32::MAX);
                self.subscribers[number] = None;
            }
            What::Look => {
                self.read_all();
                let has_synced = |member: &Option<Member>| Some(member.as_ref()?.subscriber.has_synced());
                let synced = self.subscribers.iter().map(has_synced).collect();
                self.told.synced.get_or_insert_default().push(synced);
            }
        }
    }

    /// Lets everything happen up to `until`.
    fn advance(&mut self, until: Instant) {
        loop {
            self.turn();
            let resyncs = self.subscribers.iter().flatten().map(|member| member.subscriber.poll_timeout());
            let resync = resyncs.fold(None, earliest);
            match earliest(self.driver.poll_timeout(), resync).filter(|next| *next <= until) {
                Some(next) => self.now = self.now.max(next),
                None => break,
            }
        }
        self.now = until;
    }

    fn turn(&mut self) {
        let waker = Waker::from(Arc::clone(&self.informer_task));
        let mut cx = Context::from_waker(&waker);
        loop {
            let pumped = self.driver.pump(self.now, &mut cx);
            while self.driver.informer_mut().poll_event().is_some() {
                (0..self.subscribers.len()).for_each(|number| self.sip(number));
            }
            if self.driver.informer_mut().poll_room(&mut cx).is_pending() {
                self.informer_task.take_wake_up();
                self.read_all();
                assert!(self.informer_task.take_wake_up(), "the informer is held back, and nothing wakes it");
            } else if pumped == Pumped::Waiting {
                return (0..self.subscribers.len()).for_each(|number| self.sip(number));
            }
        }
    }

    fn sip(&mut self, number: usize) {
        match self.cast.handlers[number].habit {
            Habit::Eager => self.read(number, u32::MAX),
            Habit::Sips(count) => self.read(number, count),
            Habit::Late => {}
        }
    }

    fn read_all(&mut self) {
        (0..self.subscribers.len()).for_each(|number| self.read(number, u32::MAX));
    }

    fn read(&mut self, number: usize, count: u32) {
        let Some(Member { subscriber, task }) = &mut self.subscribers[number] else { return };
        let is_due = subscriber.poll_timeout().is_some_and(|due| due <= self.now);
        if !task.take_wake_up() && !is_due {
            return;
        }
        let waker = Waker::from(Arc::clone(task));
        for _ in 0..count {
            let next = subscriber.poll_next(self.now, &mut Context::from_waker(&waker));
            let Poll::Ready(Some(told)) = next else { return };
            if let informer::Told::Event(event) = told {
                self.told.handlers[number].extend(Notification::of(self.now.as_nanos(), &event));
            }
        }
        // It was not told that there is no more.
        waker.wake();
    }

    fn finish(mut self) -> Told {
        self.read_all();
        let entry = |object: &Pod| format!("{} {}", object.key(), object.meta().resource_version());
        let mut store: Vec<String> = self.store.read(|objects| objects.iter().map(entry).collect());
        store.sort();
        self.told.store = Some(store);
        self.told
    }
}

/// What corresponds to a handler of client-go.
fn subscription(cast: &Cast, handler: &Handler) -> Subscription<Pod> {
    let mut subscription = Subscription::new().resync(differences::period(cast, handler));
    if !handler.coalesces {
        subscription = subscription.wait();
    }
    if handler.quiet {
        subscription = subscription.quiet();
    }
    if let Some(app) = handler.without {
        subscription = subscription.filter(move |pod: &Pod| pod.meta().label("app") != Some(app));
    }
    subscription
}
