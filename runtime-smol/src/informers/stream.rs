//! One list-and-watch of an informer: its task, its transport and its end.

use super::board::Board;
#[cfg(feature = "shards")]
use super::selection::Selection;
use super::stream_status::StreamError;
use super::world::{AnyTransport, OnTape, World};
use crate::caught::caught_call;
use crate::clock::Clock;
#[cfg(feature = "file")]
use crate::clock::SimulatedTime;
use crate::events::{Events, SharedEvents};
use crate::mutex::Mutex;
use crate::names::StreamName;
#[cfg(feature = "file")]
use crate::replay::Replay;
use crate::saved::Saving;
#[cfg(feature = "file")]
use core::future::pending;
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
#[cfg(feature = "file")]
use smol::future::yield_now;
use std::sync::Arc;
#[cfg(feature = "file")]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(any(feature = "file", feature = "shards"))]
use std::task::Wake;

/// Called with what goes wrong in a stream.
pub(super) type OnError = Arc<dyn Fn(&StreamName, &StreamError<'_>) + Send + Sync>;

/// How the cache of a stream is saved.
pub(super) type Saves<T> = Box<dyn Saving<Json<T>, StoreWriter<T>>>;

/// A stream. Its task [runs](Self::run) it, and the last handle of its informer [stops](Self::stop) it at once, whether
/// or not the task is polled again.
pub(super) struct Stream {
    shared: Arc<Shared>,
    life: Mutex<Life>,
}

struct Life {
    phase: Phase,
    /// The task's.
    waker: Option<Waker>,
}

enum Phase {
    /// The informer starts with the first poll, and so do its deadlines.
    Follows(Following),
    /// The task polls the future, without the lock.
    Polled,
    Over,
}

/// Follows the resource. It has what the program gave: objects, decoders, index functions, a transport.
type Following = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a stream and its future share.
struct Shared {
    board: Arc<Board>,
    clock: Clock,
    /// Its part in the replay of its world.
    #[cfg(feature = "file")]
    replay: Option<ReplayedStream>,
    on_error: Option<OnError>,
    /// What is listed, and how many lists there were before.
    #[cfg(feature = "shards")]
    selecting: Mutex<Option<(Selection, u32)>>,
}

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

/// The delay after a panic, and its limit: it doubles until the stream makes progress.
const AFTER_PANIC: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

impl Stream {
    pub(super) fn new<T: FromJson + Send + Sync + 'static>(
        informer: SharedInformer<T>,
        world: &World,
        board: Arc<Board>,
        on_tape: Option<OnTape>,
        on_error: Option<OnError>,
        saving: Option<Saves<T>>,
    ) -> Self {
        #[cfg(feature = "file")]
        let replay = world.replay().zip(on_tape.as_ref()).map(|(replay, on_tape)| ReplayedStream {
            replay: Arc::clone(replay),
            clock: Clock::simulated(),
            name: Arc::clone(&on_tape.name),
        });
        let transport = StreamTransport::new(world, board.name().resource().clone(), on_tape);
        let driver = Driver::new(informer, transport.counting(board.received_bytes()));
        let shared = Arc::new(Shared {
            board,
            clock: world.clock().clone(),
            #[cfg(feature = "file")]
            replay,
            on_error,
            #[cfg(feature = "shards")]
            selecting: Mutex::default(),
        });
        let phase = Phase::Follows(Box::pin(Arc::clone(&shared).follow(driver, saving)));
        Self { shared, life: Mutex::new(Life { phase, waker: None }) }
    }

    #[cfg(feature = "file")]
    pub(super) fn resource(&self) -> &Resource {
        self.shared.board.name().resource()
    }

    /// Takes the next event of a stream that is replayed, or passes time for it. False if nothing is left.
    #[cfg(feature = "file")]
    pub(super) fn turn(&self) -> bool {
        let woken = Arc::new(Flag::default());
        if self.poll(&mut Context::from_waker(&Waker::from(Arc::clone(&woken)))).is_ready() {
            return false;
        }
        let advance = |stream: &ReplayedStream| stream.clock.simulation().is_some_and(SimulatedTime::advance);
        let goes_on = |stream: &ReplayedStream| !stream.replay.is_over(&stream.name) && advance(stream);
        woken.0.load(Ordering::Relaxed) || self.shared.replay.as_ref().is_some_and(goes_on)
    }

    /// Follows the resource until the stream is stopped.
    pub(super) async fn run(&self) {
        #[cfg(feature = "file")]
        if self.shared.replayed().is_some() {
            while !self.shared.board.has_synced() && self.turn() {}
            return;
        }
        poll_fn(|cx| self.poll(cx)).await;
    }

    /// Polls the future outside of the lock: what it does is the program's code.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let (phase, _last) = {
            let mut life = self.life.lock();
            let left = if matches!(life.phase, Phase::Over) { Phase::Over } else { Phase::Polled };
            (mem::replace(&mut life.phase, left), life.waker.replace(waker))
        };
        let Phase::Follows(mut following) = phase else { return Poll::Ready(()) };
        let polled = following.as_mut().poll(cx);
        let mut life = self.life.lock();
        if polled.is_pending() && matches!(life.phase, Phase::Polled) {
            life.phase = Phase::Follows(following);
            return Poll::Pending;
        }
        life.phase = Phase::Over;
        drop(life);
        self.end(Phase::Follows(following));
        Poll::Ready(())
    }

    /// Ends the stream. Its connection is closed before this returns, or by the thread that polls it at this moment.
    pub(super) fn stop(&self) {
        let (last, waker) = {
            let mut life = self.life.lock();
            (mem::replace(&mut life.phase, Phase::Over), life.waker.take())
        };
        self.end(last);
        waker.into_iter().for_each(Waker::wake);
    }

    fn end(&self, last: Phase) {
        self.shared.let_go(last);
        self.shared.board.note_stopped();
    }
}

impl Shared {
    /// The stream's part in a replay that has begun.
    #[cfg(feature = "file")]
    fn replayed(&self) -> Option<&ReplayedStream> {
        self.replay.as_ref().filter(|stream| stream.replay.is_on())
    }

    /// The clock of the stream. In a replay it goes on with the stream alone.
    fn clock(&self) -> &Clock {
        #[cfg(feature = "file")]
        if let Some(stream) = self.replayed() {
            return &stream.clock;
        }
        &self.clock
    }

    /// Follows the resource, unless the informer cannot be started. In a replay, each event is a turn.
    async fn follow<T: FromJson>(self: Arc<Self>, driver: SharedDriver<T, StreamTransport>, saving: Option<Saves<T>>) {
        let mut events = match caught_call(|| Events::start_with(driver, self.clock().clone(), saving)) {
            Ok(events) => events,
            Err(panic) => return self.report(&StreamError::Panicked(&panic)),
        };
        #[cfg(feature = "shards")]
        self.select(&mut events);
        let [first, longest] = AFTER_PANIC;
        let mut delay = first;
        loop {
            match poll_fn(|cx| self.poll_next(&mut events, cx)).await {
                Ok(None) => return,
                Ok(Some(event)) => {
                    delay = first;
                    StreamError::of(&event).iter().for_each(|error| self.report(error));
                    self.let_go(event);
                    #[cfg(feature = "file")]
                    if self.replayed().is_some() {
                        yield_now().await;
                    }
                }
                Err(panic) => {
                    self.report(&StreamError::Panicked(&panic));
                    #[cfg(feature = "file")]
                    if self.replayed().is_some() {
                        // The same bytes and the same code: it would panic for ever.
                        pending::<()>().await;
                    }
                    self.clock.sleep(delay).await;
                    delay = longest.min(delay * 2);
                }
            }
        }
    }

    /// The next event, or the message of a panic.
    fn poll_next<T: FromJson>(
        &self,
        events: &mut SharedEvents<T, StreamTransport>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Event<T>>, String>> {
        let polled = caught_call(|| Pin::new(&mut *events).poll_next(cx));
        if !matches!(&polled, Ok(Poll::Ready(Some(event))) if event.key().is_some()) {
            self.note(events);
        }
        if matches!(polled, Ok(Poll::Pending)) {
            #[cfg(feature = "shards")]
            self.note_selected(events);
            self.board.note_held(events.driver_mut().informer_mut().poll_room(cx).is_pending());
            if let Some(objects) = self.board.poll_drift(cx) {
                events.driver_mut().informer_mut().note_drift(self.clock().now(), objects);
                cx.waker().wake_by_ref();
            }
            // The waker is on the board.
            #[cfg(feature = "shards")]
            if self.select(events) {
                cx.waker().wake_by_ref();
            }
        }
        polled.map_or_else(|panic| Poll::Ready(Err(panic)), |polled| polled.map(Ok))
    }

    /// Keeps the objects that are selected, from now on. Returns whether they are others than before.
    #[cfg(feature = "shards")]
    fn select<T: FromJson>(&self, events: &mut SharedEvents<T, StreamTransport>) -> bool {
        let Some(selection) = self.board.take_selection() else { return false };
        let (informer, now) = (events.driver_mut().informer_mut(), self.clock().now());
        let (lists, objects) = (informer.lists(), selection.of(self.board.name().resource()));
        if selection.is_narrower {
            informer.narrow(now, objects);
            self.board.note_selected(&selection);
        } else {
            informer.select(now, objects);
            *self.selecting.lock() = Some((selection, lists));
        }
        true
    }

    /// Says that the cache has the objects that are selected, once it has.
    #[cfg(feature = "shards")]
    fn note_selected<T: FromJson>(&self, events: &SharedEvents<T, StreamTransport>) {
        let informer = events.driver().informer();
        let is_read = |(_, lists): &mut (Selection, u32)| *lists != informer.lists() && informer.is_drained();
        let read = self.selecting.lock().take_if(is_read);
        if let Some((selection, _)) = read {
            self.board.note_selected(&selection);
            selection.by.upgrade().into_iter().for_each(Wake::wake);
        }
    }

    fn note<T: FromJson>(&self, events: &SharedEvents<T, StreamTransport>) {
        let (informer, now) = (events.driver().informer(), self.clock().now());
        self.board.note_waits_for(events.driver().transport().waits_for());
        self.board.note_lists(informer.lists());
        if informer.cache().namespace().is_none() {
            self.board.note_objects(informer.cache().read(Indexer::len));
        }
        // The last one, as it wakes those that read the others.
        self.board.note(informer.poll_synced(now), informer.status(now));
    }

    /// Drops what the program gave.
    fn let_go<D>(&self, of_program: D) {
        if let Err(panic) = caught_call(|| drop(of_program)) {
            self.report(&StreamError::Panicked(&panic));
        }
    }

    fn report(&self, error: &StreamError<'_>) {
        self.board.note_error(error);
        #[cfg(feature = "tracing")]
        error.trace(self.board.name().resource());
        if let Some(on_error) = &self.on_error {
            // The panic of a callback has been printed. There is nobody else to tell.
            let _ = caught_call(|| on_error(self.board.name(), error));
        }
    }
}

/// A stream's own transport in its world. So the program's function that makes it is called where a panic is caught.
pub(crate) struct StreamTransport {
    world: World,
    resource: Resource,
    /// The stream on a tape.
    on_tape: Option<OnTape>,
    opened: Option<AnyTransport>,
    /// The request whose answer has not begun.
    unanswered: Option<RequestId>,
    /// The bytes of all bodies.
    received: Arc<AtomicU64>,
}

impl StreamTransport {
    pub(super) fn new(world: &World, resource: Resource, on_tape: Option<OnTape>) -> Self {
        Self { world: world.clone(), resource, on_tape, opened: None, unanswered: None, received: Arc::default() }
    }

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
        let transport = || self.world.transport(&self.resource, self.on_tape.as_ref());
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
