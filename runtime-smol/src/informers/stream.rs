//! One list-and-watch of an informer: its task, its transport and its end.

use super::board::Board;
use super::stream_status::StreamError;
use super::world::{AnyTransport, World};
use crate::caught::caught_call;
use crate::clock::Clock;
use crate::events::{Events, SharedEvents};
use crate::mutex::Mutex;
use crate::names::StreamName;
#[cfg(feature = "file")]
use crate::replay::Replay;
use crate::saved::Saving;
use core::future::poll_fn;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use futures_core::Stream as _;
use listwatch_core::api::Method;
use listwatch_core::cache::{Cache as _, Indexer, StoreWriter};
use listwatch_core::decode::{FromJson, Json};
use listwatch_core::informer::{SharedDriver, SharedInformer};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::text::SharedText;
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{Driver, Event, ListerWatcher, Resource};
use std::sync::Arc;
#[cfg(feature = "file")]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "file")]
use std::task::Wake;

/// Called with what goes wrong in a stream.
pub(super) type OnError = Arc<dyn Fn(&StreamName, &StreamError<'_>) + Send + Sync>;

/// How the cache of a stream is saved.
pub(super) type Saves<T> = Box<dyn Saving<Json<T>, StoreWriter<T>>>;

/// A stream. Its task [runs](Self::run) it, and the last handle of its informer [stops](Stop::stop) it at once, whether
/// or not the task is polled again.
pub(super) struct Stream<T: FromJson> {
    board: Arc<Board>,
    clock: Clock,
    /// Its part in the replay of its world.
    #[cfg(feature = "file")]
    replay: Option<ReplayedStream>,
    on_error: Option<OnError>,
    state: Mutex<Slot<T>>,
}

struct Slot<T: FromJson> {
    phase: Phase<T>,
    /// The task's.
    waker: Option<Waker>,
}

enum Phase<T: FromJson> {
    /// The informer was not started. Its deadlines begin with the first poll.
    Prepared(Prepared<T>, Option<Saves<T>>),
    Started(Box<SharedEvents<T, StreamTransport>>),
    /// The task has the events, without the lock.
    Polled,
    Stopped,
}

/// The driver of an informer that was not started.
type Prepared<T> = Box<SharedDriver<T, StreamTransport>>;

#[cfg(feature = "file")]
struct ReplayedStream {
    replay: Arc<Replay>,
    /// A time of its own.
    clock: Clock,
    /// That of the stream on the tape.
    name: Arc<str>,
}

/// Whether it was woken.
#[cfg(feature = "file")]
#[derive(Default)]
struct Flag(AtomicBool);

#[cfg(feature = "file")]
impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the task does next.
#[expect(clippy::large_enum_variant, reason = "nearly all are events")]
enum Turn<T> {
    Take(Event<T>),
    Recover(String),
    Leave,
}

/// The delay after a panic, and its limit: it doubles until the stream makes progress.
const AFTER_PANIC: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

impl<T: FromJson> Stream<T> {
    pub(super) fn new(
        informer: SharedInformer<T>,
        world: &World,
        board: Arc<Board>,
        name: Option<Arc<str>>,
        on_error: Option<OnError>,
        saving: Option<Saves<T>>,
    ) -> Self {
        #[cfg(feature = "file")]
        let replay = world.replay().zip(name.clone()).map(|(replay, name)| ReplayedStream {
            replay: Arc::clone(replay),
            clock: Clock::simulated(),
            name,
        });
        let transport = StreamTransport::new(world, board.name().resource().clone(), name);
        let transport = transport.counting(board.received_bytes());
        let phase = Phase::Prepared(Box::new(Driver::new(informer, transport)), saving);
        Self {
            board,
            clock: world.clock().clone(),
            #[cfg(feature = "file")]
            replay,
            on_error,
            state: Mutex::new(Slot { phase, waker: None }),
        }
    }

    #[cfg(feature = "file")]
    pub(super) fn resource(&self) -> &Resource {
        self.board.name().resource()
    }

    /// The clock of the stream. In a replay it goes on with the stream alone.
    fn clock(&self) -> &Clock {
        #[cfg(feature = "file")]
        if let Some(ReplayedStream { replay, clock, .. }) = &self.replay
            && replay.is_on()
        {
            return clock;
        }
        &self.clock
    }

    /// Takes the next event of a stream that is replayed, or passes time for it. False if nothing is left.
    #[cfg(feature = "file")]
    pub(super) fn turn(&self) -> bool {
        let woken = Arc::new(Flag::default());
        match self.poll(&mut Context::from_waker(&Waker::from(Arc::clone(&woken)))) {
            Poll::Ready(Turn::Leave) => return false,
            Poll::Ready(Turn::Take(event)) => {
                StreamError::of(&event).iter().for_each(|error| self.report(error));
                self.let_go(event);
            }
            Poll::Ready(Turn::Recover(panic)) => {
                // The same bytes and the same code: it would panic for ever.
                self.report(&StreamError::Panicked(&panic));
                return false;
            }
            Poll::Pending if woken.0.load(Ordering::Relaxed) => {}
            Poll::Pending => {
                let goes_on = |stream: &ReplayedStream| !stream.replay.is_over(&stream.name) && stream.clock.advance();
                return self.replay.as_ref().is_some_and(goes_on);
            }
        }
        true
    }

    /// Follows the resource until the stream is stopped.
    pub(super) async fn run(&self) {
        #[cfg(feature = "file")]
        if self.replay.as_ref().is_some_and(|stream| stream.replay.is_on()) {
            while !self.board.has_synced() && self.turn() {}
            return;
        }
        let [first, longest] = AFTER_PANIC;
        let mut delay = first;
        loop {
            match poll_fn(|cx| self.poll(cx)).await {
                Turn::Leave => return,
                Turn::Take(event) => {
                    delay = first;
                    StreamError::of(&event).iter().for_each(|error| self.report(error));
                    self.let_go(event);
                }
                Turn::Recover(panic) => {
                    self.report(&StreamError::Panicked(&panic));
                    self.pause(delay).await;
                    delay = longest.min(delay * 2);
                }
            }
        }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Turn<T>> {
        let mut events = match self.take(cx) {
            Phase::Started(events) => events,
            Phase::Prepared(driver, saving) => match self.start(driver, saving) {
                Some(events) => events,
                None => return Poll::Ready(Turn::Leave),
            },
            Phase::Polled | Phase::Stopped => return Poll::Ready(Turn::Leave),
        };
        let polled = caught_call(|| Pin::new(&mut *events).poll_next(cx));
        if !matches!(&polled, Ok(Poll::Ready(Some(event))) if event.key().is_some()) {
            self.note(&events);
        }
        if matches!(polled, Ok(Poll::Pending)) {
            self.board.note_held(events.driver_mut().informer_mut().poll_room(cx).is_pending());
            if let Some(objects) = self.board.poll_drift(cx) {
                events.driver_mut().informer_mut().note_drift(self.clock().now(), objects);
                cx.waker().wake_by_ref();
            }
        }
        if !self.put_back(events) {
            self.let_go(polled);
            return Poll::Ready(Turn::Leave);
        }
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(event)) => Poll::Ready(event.map_or(Turn::Leave, Turn::Take)),
            Err(panic) => Poll::Ready(Turn::Recover(panic)),
        }
    }

    /// Takes what is polled out of the lock: what is done with it is the program's code.
    fn take(&self, cx: &Context<'_>) -> Phase<T> {
        let waker = cx.waker().clone();
        let (taken, _last) = {
            let mut state = self.state.lock();
            let left = if matches!(state.phase, Phase::Stopped) { Phase::Stopped } else { Phase::Polled };
            (mem::replace(&mut state.phase, left), state.waker.replace(waker))
        };
        taken
    }

    /// Starts the informer. If that panics, the stream is stopped.
    fn start(&self, driver: Prepared<T>, saving: Option<Saves<T>>) -> Option<Box<SharedEvents<T, StreamTransport>>> {
        match caught_call(|| Box::new(Events::start_with(*driver, self.clock().clone(), saving))) {
            Ok(events) => Some(events),
            Err(panic) => {
                self.report(&StreamError::Panicked(&panic));
                self.state.lock().phase = Phase::Stopped;
                self.board.note_stopped();
                None
            }
        }
    }

    /// False if the stream was stopped meanwhile.
    fn put_back(&self, events: Box<SharedEvents<T, StreamTransport>>) -> bool {
        let mut state = self.state.lock();
        let goes_on = matches!(state.phase, Phase::Polled);
        if goes_on {
            state.phase = Phase::Started(events);
        } else {
            drop(state);
            self.discard(Phase::Started(events));
        }
        goes_on
    }

    fn note(&self, events: &SharedEvents<T, StreamTransport>) {
        let (informer, now) = (events.driver().informer(), self.clock().now());
        self.board.note(informer.poll_synced(now), informer.status(now));
        self.board.note_waits_for(events.driver().transport().waits_for());
        if informer.cache().namespace().is_none() {
            self.board.note_objects(informer.cache().read(Indexer::len));
        }
    }

    /// Waits for `delay`, or for the stop.
    async fn pause(&self, delay: Duration) {
        let mut sleep = self.clock.sleep(delay);
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let mut state = self.state.lock();
            let _last = state.waker.replace(waker);
            let is_stopped = matches!(state.phase, Phase::Stopped);
            drop(state);
            if is_stopped { Poll::Ready(()) } else { Pin::new(&mut sleep).poll(cx) }
        })
        .await;
    }

    fn discard(&self, last: Phase<T>) {
        self.let_go(last);
        self.board.note_stopped();
    }

    /// Drops what the program gave: objects, decoders, index functions, a transport.
    fn let_go<D>(&self, of_program: D) {
        if let Err(panic) = caught_call(|| drop(of_program)) {
            self.report(&StreamError::Panicked(&panic));
        }
    }

    fn report(&self, error: &StreamError<'_>) {
        self.board.note_error(error);
        error.trace(self.board.name().resource());
        if let Some(on_error) = &self.on_error {
            // The panic of a callback has been printed. There is nobody else to tell.
            let _ = caught_call(|| on_error(self.board.name(), error));
        }
    }
}

/// A stream of any type.
pub(super) trait Stop: Send + Sync {
    /// Ends the stream. Its connection is closed before this returns, or by the thread that polls it at this moment.
    fn stop(&self);
}

impl<T: FromJson + Send + Sync> Stop for Stream<T> {
    fn stop(&self) {
        let (last, waker) = {
            let mut state = self.state.lock();
            (mem::replace(&mut state.phase, Phase::Stopped), state.waker.take())
        };
        self.discard(last);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A stream's own transport in its world. So the program's function that makes it is called where a panic is caught.
pub(crate) struct StreamTransport {
    world: World,
    resource: Resource,
    /// That of the stream on a tape.
    name: Option<Arc<str>>,
    opened: Option<AnyTransport>,
    /// The request whose answer has not begun.
    unanswered: Option<RequestId>,
    /// The bytes of all bodies.
    received: Arc<AtomicU64>,
}

impl StreamTransport {
    pub(super) fn new(world: &World, resource: Resource, name: Option<Arc<str>>) -> Self {
        Self { world: world.clone(), resource, name, opened: None, unanswered: None, received: Arc::default() }
    }
}

impl StreamTransport {
    /// Adds up the bytes of bodies there.
    pub(super) fn counting(self, received: &Arc<AtomicU64>) -> Self {
        Self { received: Arc::clone(received), ..self }
    }

    /// The open request is answered, or over without an answer.
    fn count(&mut self, status: Option<u16>) {
        if self.unanswered.take().is_some() {
            self.world.client().requests().count(Method::Get, status);
        }
    }
}

impl ListerWatcher for StreamTransport {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.count(None);
        self.unanswered = Some(id);
        let transport = || self.world.transport(&self.resource, self.name.as_ref());
        self.opened.get_or_insert_with(transport).open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        match &mut self.opened {
            Some(opened) => {
                let read = opened.poll_read(context, buf);
                match &read {
                    Poll::Ready(Incoming::Head { head, .. }) => self.count(Some(head.status)),
                    Poll::Ready(Incoming::Data { len, .. }) => {
                        self.received.fetch_add(u64::try_from(*len).unwrap_or(u64::MAX), Ordering::Relaxed);
                    }
                    Poll::Ready(Incoming::Failed { id, .. }) if self.unanswered == Some(*id) => self.count(None),
                    _ => {}
                }
                read
            }
            None => Poll::Ready(Incoming::Idle { until: None }),
        }
    }

    fn abort(&mut self, id: RequestId) {
        if self.unanswered == Some(id) {
            self.count(None);
        }
        self.opened.iter_mut().for_each(|opened| opened.abort(id));
    }

    fn waits_for(&self) -> Option<SharedText> {
        self.opened.as_ref()?.waits_for()
    }
}
