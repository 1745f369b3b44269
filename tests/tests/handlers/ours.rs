//! Our informer and its subscribers, over the answers of an exchange.

use crate::cast::{Act, Cast, Habit, Handler, What};
use crate::differences;
use crate::exchange::{Exchange, Player};
use crate::told::{Notification, Told};
use listwatch_core::cache::Store;
use listwatch_core::decode::MetadataOnly;
use listwatch_core::informer::{Pumped, SharedDriver, Subscriber, Subscription};
use listwatch_core::object::ObjectHandle;
use listwatch_core::sync::StdLock;
use listwatch_core::time::earliest;
use listwatch_core::{Informer, InformerConfig, Instant, informer};
use std::task::{Context, Poll, Waker};

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

struct Stage<'a> {
    driver: SharedDriver<MetadataOnly, Player<'a>>,
    store: Store<MetadataOnly>,
    cast: &'a Cast,
    subscribers: Vec<Option<Subscriber<Pod, StdLock>>>,
    now: Instant,
    told: Told,
}

impl<'a> Stage<'a> {
    fn new(exchange: &'a Exchange, config: InformerConfig, cast: &'a Cast) -> Self {
        let (informer, store) = Informer::shared(exchange.resource.clone(), config);
        let driver = SharedDriver::new(informer, Player::new(exchange));
        let handlers = vec![Vec::new(); cast.handlers.len()];
        let told = Told { handlers, synced: Some(Vec::new()), ..Told::default() };
        let subscribers = cast.handlers.iter().map(|_| None).collect();
        Self { driver, store, cast, subscribers, now: Instant::ZERO, told }
    }

    fn act(&mut self, what: What) {
        match what {
            What::Join(number) => {
                let subscription = subscription(self.cast, &self.cast.handlers[number]);
                self.subscribers[number] = Some(self.store.subscribe(self.now, subscription));
            }
            What::Leave(number) => {
                self.read(number, u32::MAX);
                self.subscribers[number] = None;
            }
            What::Look => {
                self.read_all();
                let synced = self.subscribers.iter().map(|one| one.as_ref().map(Subscriber::has_synced)).collect();
                self.told.synced.get_or_insert_default().push(synced);
            }
        }
    }

    /// Lets everything happen up to `until`.
    fn advance(&mut self, until: Instant) {
        loop {
            self.turn();
            let resync = self.subscribers.iter().flatten().map(Subscriber::poll_timeout).fold(None, earliest);
            match earliest(self.driver.poll_timeout(), resync).filter(|next| *next <= until) {
                Some(next) => self.now = self.now.max(next),
                None => break,
            }
        }
        self.now = until;
    }

    fn turn(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            let pumped = self.driver.pump(self.now, &mut cx);
            while self.driver.informer_mut().poll_event().is_some() {
                (0..self.subscribers.len()).for_each(|number| self.sip(number));
            }
            if self.driver.informer_mut().poll_room(&mut cx).is_pending() {
                self.read_all();
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
        let mut cx = Context::from_waker(Waker::noop());
        let Some(subscriber) = &mut self.subscribers[number] else { return };
        for _ in 0..count {
            let Poll::Ready(Some(told)) = subscriber.poll_next(self.now, &mut cx) else { return };
            if let informer::Told::Event(event) = told {
                self.told.handlers[number].extend(Notification::of(self.now.as_nanos(), &event));
            }
        }
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
