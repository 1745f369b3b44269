//! What a server has, asked until it says so.

use crate::arguments::FollowOptions;
use crate::complaint::complain;
use crate::live::Live;
use crate::resource::{ResourceError, SENTENCE};
use listwatch_runtime_smol::api::{ApiClient, ApiError, ApiRequest, Discovery};
use listwatch_runtime_smol::decode::Status;
use listwatch_runtime_smol::informer::InformerStatus;
use listwatch_runtime_smol::reflector::{Backoff, Failure, RetryDelays};
use listwatch_runtime_smol::text::Printable;
use listwatch_runtime_smol::{Clock, Instant};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// For how long a server that has just come back may not know all that it has: custom resources come last.
const AWAKENING: Duration = Duration::from_secs(60);

/// Asks a server what it has, and does so again where waiting may help.
pub(crate) struct Asking<'a> {
    options: &'a FollowOptions,
    clock: Clock,
    live: &'a Live,
    /// It waits as a reflector does.
    delays: RefCell<RetryDelays>,
    trouble: RefCell<Option<Trouble>>,
    /// When it could be asked again, after it could not.
    back: Cell<Option<Instant>>,
    /// It did not have what is wanted.
    missed: Cell<bool>,
}

/// Why there is no answer yet.
struct Trouble {
    failure: Failure,
    since: Instant,
    attempts: u32,
    next: Instant,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(options: &'a FollowOptions, clock: Clock, live: &'a Live) -> Self {
        let delays = RefCell::new(Backoff::default().delays(RandomState::new().hash_one(())));
        Self {
            options,
            clock,
            live,
            delays,
            trouble: RefCell::default(),
            back: Cell::default(),
            missed: Cell::default(),
        }
    }

    /// All that the server has.
    ///
    /// # Errors
    /// Where waiting does not help, and nobody wants to wait all the same.
    pub(crate) async fn discover(
        &self,
        client: impl ApiClient + Send + Sync + 'static,
    ) -> Result<Discovery, ResourceError> {
        let (client, mut discovery) = (Arc::new(client), Discovery::new());
        while let Some(request) = discovery.poll_request() {
            while let Err(error) = ask(&client, &request, &mut discovery).await {
                let next = self.on_failure(error)?;
                self.clock.sleep_until(next).await;
            }
            self.on_answer();
        }
        Ok(discovery)
    }

    /// What it is doing.
    pub(crate) fn status(&self) -> String {
        match &*self.trouble.borrow() {
            None if self.options.resource.contains('/') => "no request was sent".to_owned(),
            None => format!("asking the server what `{}` is", self.options.resource),
            Some(trouble) => trouble.status(self.clock.now()).to_string(),
        }
    }

    /// The server does not have what is wanted: perhaps not yet.
    ///
    /// # Errors
    /// Where waiting does not help, and nobody wants to wait all the same.
    pub(crate) async fn on_missing(&self, error: ResourceError) -> Result<(), ResourceError> {
        let awakes = self.back.get().is_some_and(|back| self.clock.now().saturating_since(back) < AWAKENING);
        if !awakes && !self.options.keep_trying {
            return Err(error);
        }
        if !self.missed.replace(true) {
            self.say(format_args!("{error}; perhaps not yet, so it is asked again"));
        }
        let delay = self.delay(&Failure::Status(Status::of_code(404).into()), Duration::ZERO);
        self.clock.sleep(delay).await;
        Ok(())
    }

    /// Who was told that the server cannot be asked wants to know that it can be.
    fn on_answer(&self) {
        self.delays.borrow_mut().note_answer(self.clock.now());
        if self.trouble.take().is_some() {
            self.back.set(Some(self.clock.now()));
            self.say("well again: the server answers");
        }
    }

    fn delay(&self, failure: &Failure, asked: Duration) -> Duration {
        self.delays.borrow_mut().after(self.clock.now(), failure, asked)
    }

    fn say(&self, what: impl fmt::Display) {
        self.live.aside(|| complain(what));
    }

    /// Says what is wrong, less and less often while it stays the same; and when to ask again.
    fn on_failure(&self, error: ApiError) -> Result<Instant, ResourceError> {
        let name = &self.options.resource;
        let (failure, hopeless) = judge(&error);
        if hopeless && !self.options.keep_trying {
            return Err(ResourceError::Undiscovered(name.clone(), error));
        }
        let now = self.clock.now();
        let before = self.trouble.take();
        let attempts = before.as_ref().map_or(1, |before| before.attempts.saturating_add(1));
        let since = before.as_ref().map_or(now, |before| before.since);
        let next = now + self.delay(&failure, error.retry_after().unwrap_or_default());
        let trouble = Trouble { failure, since, attempts, next };
        let is_new = before.is_none_or(|before| before.failure.class() != trouble.failure.class());
        if is_new || attempts.is_power_of_two() {
            self.say(format_args!(
                "cannot ask the server what `{name}` is: {}; {}",
                Printable::new(&error).at_most(SENTENCE),
                trouble.status(now)
            ));
        }
        self.trouble.replace(Some(trouble));
        Ok(next)
    }
}

impl Trouble {
    fn status(&self, now: Instant) -> InformerStatus {
        InformerStatus::Failing {
            class: self.failure.class(),
            status: self.failure.status().map(|status| status.code),
            attempts: self.attempts,
            elapsed: now.saturating_since(self.since),
            next_try: Some(self.next.saturating_since(now)).filter(|wait| !wait.is_zero()),
            synced: false,
        }
    }
}

/// Asks on a thread that nobody waits for who has something else to do.
async fn ask<C>(client: &Arc<C>, request: &ApiRequest, discovery: &mut Discovery) -> Result<(), ApiError>
where
    C: ApiClient + Send + Sync + 'static,
{
    let (client, sent) = (Arc::clone(client), request.clone());
    let response = smol::unblock(move || client.send(&sent)).await?;
    discovery.handle(request, &response)
}

/// What kind of failure it is, and whether waiting does not help: what cannot be read once will not be read the next
/// time.
fn judge(error: &ApiError) -> (Failure, bool) {
    let failure = match error {
        ApiError::Status { status, .. } => Failure::Status(Arc::new((**status).clone())),
        ApiError::Transport(error) => Failure::Transport(error.clone()),
        _ => return (Failure::NotAList, true),
    };
    let hopeless = failure.class().requires_intervention();
    (failure, hopeless)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Command, parse};
    use listwatch_runtime_smol::transport::{TransportError, TransportErrorKind};

    /// The delay had doubled up to half a minute while nothing listened.
    #[test]
    fn discovery_found_a_server_half_a_minute_after_its_return() {
        let arguments = ["listwatch", "watch", "pods", "--keep-trying"].map(Into::into);
        let Ok(Command::Watch(options)) = parse(arguments) else { panic!("refused") };
        let (clock, live) = (Clock::simulated(), Live::words(false));
        let asking = Asking::new(&options.follow, clock.clone(), &live);
        let error = || ApiError::Transport(TransportError::new(TransportErrorKind::Refused, ""));
        for attempt in 1..20 {
            let waits = asking.on_failure(error()).unwrap().saturating_since(clock.now());
            assert!(waits < Duration::from_secs(8), "attempt {attempt}: {waits:?}");
        }
    }
}
