//! Discovery, repeated until the server answers.

use super::error::{ResourceError, SENTENCE};
use crate::arguments::FollowOptions;
use crate::output::messages;
use crate::output::progress::Progress;
use crate::report::repeats::Repeats;
use listwatch::Clock;
use listwatch::api::{ApiClient, ApiError, ApiRequest, Discovery};
use listwatch::decode::Status;
use listwatch::informer::InformerStatus;
use listwatch::reflector::{Backoff, Failure, RetryDelays};
use listwatch::text::Printable;
use listwatch::time::Instant;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// The time for which a restarted server may not know all of its resources yet: custom resources come last.
const WARM_UP: Duration = Duration::from_secs(60);

/// Discovers a server's resources, and retries if waiting may help.
pub(crate) struct Discoverer<'a> {
    options: &'a FollowOptions,
    clock: Clock,
    progress: &'a Progress,
    /// The delays of a reflector.
    delays: RefCell<RetryDelays>,
    outage: RefCell<Option<Outage>>,
    repeats: RefCell<Repeats>,
    /// The end of the last outage.
    recovered_at: Cell<Option<Instant>>,
    /// Whether the missing resource was reported.
    missing_reported: Cell<bool>,
    /// Whether a name needs discovery.
    is_discovering: Cell<bool>,
}

/// A series of failures without an answer between them.
struct Outage {
    /// The last failure.
    failure: Failure,
    since: Instant,
    attempts: u32,
    next: Instant,
}

impl<'a> Discoverer<'a> {
    pub(crate) fn new(options: &'a FollowOptions, clock: Clock, progress: &'a Progress) -> Self {
        let delays = RefCell::new(Backoff::default().delays(RandomState::new().hash_one(())));
        Self {
            options,
            clock,
            progress,
            delays,
            outage: RefCell::default(),
            repeats: RefCell::default(),
            recovered_at: Cell::default(),
            missing_reported: Cell::default(),
            is_discovering: Cell::default(),
        }
    }

    /// All resources of the server.
    ///
    /// # Errors
    /// The server refuses, and the options do not ask to keep trying.
    pub(super) async fn discover(
        &self,
        client: impl ApiClient + Send + Sync + 'static,
    ) -> Result<Discovery, ResourceError> {
        self.is_discovering.set(true);
        let (client, mut discovery) = (Arc::new(client), Discovery::new());
        while let Some(request) = discovery.poll_request() {
            while let Err(error) = send(&client, &request, &mut discovery).await {
                let next = self.on_failure(error)?;
                self.clock.sleep_until(next).await;
            }
            self.on_answer();
        }
        Ok(discovery)
    }

    /// The status for people.
    pub(crate) fn status(&self) -> String {
        match &*self.outage.borrow() {
            None if !self.is_discovering.get() => "no request was sent".to_owned(),
            None => format!("discovering {}", self.names()),
            Some(outage) => outage.status(self.clock.now()).to_string(),
        }
    }

    /// Waits before another discovery, because a server that restarted may have the missing resource later.
    ///
    /// # Errors
    /// The server did not restart, and the options do not ask to keep trying.
    pub(super) async fn wait_for_missing(&self, missing: ResourceError) -> Result<(), ResourceError> {
        let warms_up = self.recovered_at.get().is_some_and(|at| self.clock.now().saturating_since(at) < WARM_UP);
        if !warms_up && !self.options.keep_trying {
            return Err(missing);
        }
        if !self.missing_reported.replace(true) {
            self.report(format_args!("{missing}; the server may have it later, so the command tries again"));
        }
        let delay = self.delay(&Failure::Status(Status::of_code(404).into()), Duration::ZERO);
        self.clock.sleep(delay).await;
        Ok(())
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.options.resources.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }

    fn on_answer(&self) {
        self.delays.borrow_mut().note_answer(self.clock.now());
        self.outage.take();
        if self.repeats.borrow_mut().recover() {
            self.recovered_at.set(Some(self.clock.now()));
            self.report("recovered: the server answers");
        }
    }

    fn delay(&self, failure: &Failure, retry_after: Duration) -> Duration {
        self.delays.borrow_mut().after(self.clock.now(), failure, retry_after)
    }

    fn report(&self, message: impl fmt::Display) {
        self.progress.suspend(|| messages::report(message));
    }

    /// Reports the failure if it is due, and returns the time of the next attempt.
    fn on_failure(&self, error: ApiError) -> Result<Instant, ResourceError> {
        let (failure, is_final) = classify(&error);
        if is_final && !self.options.keep_trying {
            return Err(ResourceError::Undiscovered(self.names(), error));
        }
        let now = self.clock.now();
        let before = self.outage.take();
        let attempts = before.as_ref().map_or(1, |before| before.attempts.saturating_add(1));
        let since = before.as_ref().map_or(now, |before| before.since);
        let next = now + self.delay(&failure, error.retry_after().unwrap_or_default());
        let outage = Outage { failure, since, attempts, next };
        if self.repeats.borrow_mut().is_due(outage.failure.class(), attempts) {
            self.report(format_args!(
                "cannot discover {}: {}; {}",
                self.names(),
                Printable::new(&error).at_most(SENTENCE),
                outage.status(now)
            ));
        }
        self.outage.replace(Some(outage));
        Ok(next)
    }
}

impl Outage {
    fn status(&self, now: Instant) -> InformerStatus {
        InformerStatus::Failing {
            class: self.failure.class(),
            status: self.failure.status().map(|status| status.code),
            attempts: self.attempts,
            elapsed: now.saturating_since(self.since),
            next_try: Some(self.next.saturating_since(now)).filter(|wait| !wait.is_zero()),
            synced: false,
            restored: None,
        }
    }
}

/// All resources of a server that answers at once.
pub(super) async fn discovered_once(client: impl ApiClient + Send + Sync + 'static) -> Option<Discovery> {
    let (client, mut discovery) = (Arc::new(client), Discovery::new());
    while let Some(request) = discovery.poll_request() {
        send(&client, &request, &mut discovery).await.ok()?;
    }
    Some(discovery)
}

/// Sends a request on a thread that is left alone if the future is dropped.
async fn send<C>(client: &Arc<C>, request: &ApiRequest, discovery: &mut Discovery) -> Result<(), ApiError>
where
    C: ApiClient + Send + Sync + 'static,
{
    let (client, sent) = (Arc::clone(client), request.clone());
    let response = smol::unblock(move || client.send(&sent)).await?;
    discovery.handle(request, &response)
}

/// The failure as a reflector sees it, and whether a retry is in vain. An answer that cannot be read is final.
fn classify(error: &ApiError) -> (Failure, bool) {
    let failure = match error {
        ApiError::Status { status, .. } => Failure::Status(Arc::new((**status).clone())),
        ApiError::Transport(error) => Failure::Transport(error.clone()),
        _ => return (Failure::NotAList, true),
    };
    let is_final = failure.class().requires_intervention();
    (failure, is_final)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Command, parse};
    use listwatch::transport::{TransportError, TransportErrorKind};

    #[test]
    fn discovery_retries_a_refused_connection_within_eight_seconds() {
        let arguments = ["listwatch", "watch", "pods", "--keep-trying"].map(Into::into);
        let Ok(Command::Watch(options)) = parse(arguments) else { panic!("refused") };
        let (clock, progress) = (Clock::simulated(), Progress::words(false));
        let discoverer = Discoverer::new(&options.follow, clock.clone(), &progress);
        let error = || ApiError::Transport(TransportError::new(TransportErrorKind::Refused, ""));
        for attempt in 1..20 {
            let waits = discoverer.on_failure(error()).unwrap().saturating_since(clock.now());
            assert!(waits < Duration::from_secs(8), "attempt {attempt}: {waits:?}");
        }
    }
}
