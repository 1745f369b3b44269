//! An API server with one collection: requests in, heads and bytes out. It opens no socket and reads no clock.

use super::answer::Answer;
use super::ask::Ask;
use super::log::Log;
use super::object::{KeyNumber, put, write_json};
use super::page::Page;
use super::refusal::{Refusal, TooLarge};
use super::replica::Replica;
use super::selector::Selector;
use super::watch::{Initial, Watch};
use listwatch_core::Instant;
use listwatch_core::request::Verb;
use std::time::Duration;

/// A server, or several that share a store.
#[derive(Debug)]
pub struct Server {
    /// What was written.
    pub log: Log,
    /// The servers behind the load balancer.
    pub replicas: Vec<Replica>,
    config: ServerConfig,
}

/// What kind of a server it is.
#[derive(Clone, Copy, Debug)]
pub struct ServerConfig {
    /// How many objects there can be.
    pub keys: KeyNumber,
    /// How many replicas there are; at least one.
    pub replicas: usize,
    /// What it does with a watch-list.
    pub watch_lists: WatchLists,
    /// How long it takes to say that the initial events of a watch-list are complete.
    pub initial: Duration,
    /// A bookmark comes between the initial events, too.
    pub early_bookmarks: bool,
    /// Whether it writes bookmarks, and ends watches, by itself.
    pub keeps_time: bool,
    /// A version that is gone is refused by the status of the answer, not by an event under status 200.
    pub refuses_watches: bool,
    /// A watch from a version that is yet to come waits for it, as a watch cache does; otherwise it is refused.
    pub waits_for_versions: bool,
    /// How it says that a version is larger than its own.
    pub too_large: TooLarge,
    /// The objects of events say their kind, as those of lists never do: so does a real server, of whole objects.
    pub says_kinds: bool,
}

impl ServerConfig {
    /// One replica that does all as it should.
    #[must_use]
    pub fn sound(keys: KeyNumber) -> Self {
        Self {
            keys,
            replicas: 1,
            watch_lists: WatchLists::Served,
            initial: Duration::ZERO,
            early_bookmarks: false,
            keeps_time: true,
            refuses_watches: true,
            waits_for_versions: true,
            too_large: TooLarge::CauseType,
            says_kinds: false,
        }
    }
}

/// What a server does with a watch-list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchLists {
    /// What it should.
    Served,
    /// It does not know the parameter, and says so.
    Refused,
    /// It does not know the parameter, and takes it for a watch: the initial events have no end.
    Endless,
}

/// After how long a watch that names no timeout is ended.
const USUAL_TIMEOUT: Duration = Duration::from_secs(45 * 60);

impl Server {
    /// A server with nothing in it.
    #[must_use]
    pub fn new(config: ServerConfig) -> Self {
        let replicas = vec![Replica::default(); config.replicas.max(1)];
        let mut server = Self { log: Log::new(config.keys), replicas, config };
        // Revision zero stands for any.
        server.log.skip(1);
        server.follow();
        server
    }

    /// Begins to answer a request, by one of the replicas.
    #[must_use]
    pub fn open(&mut self, now: Instant, ask: &Ask, replica: usize) -> Answer {
        self.follow();
        let Some(selector) = Selector::of(&ask.request.resource) else { return Refusal::of(400).into() };
        let answer = match &ask.request.verb {
            Verb::List { .. } => self.list(ask, &selector, &self.replicas[replica]),
            Verb::Watch { initial_events: false, .. } => self.watch(now, ask, selector, replica),
            Verb::Watch { initial_events: true, .. } => self.watch_list(now, ask, selector, replica),
        };
        answer.unwrap_or_else(Answer::from)
    }

    /// Says on an answer what has happened and what is due; true when it is over, once what was said is read.
    pub fn advance(&mut self, now: Instant, answer: &mut Answer) -> bool {
        let Some(mut watch) = answer.watch.take() else { return true };
        self.replicas[watch.replica].follow(&self.log);
        let applied = self.replicas[watch.replica].applied();
        let goes_on = watch.advance(now, &self.log, applied, answer.body());
        answer.watch = Some(watch).filter(|_| goes_on);
        !goes_on
    }

    /// Writes a bookmark on a watch; on a watch-list, the first says that the initial events are complete.
    pub fn bookmark(&mut self, now: Instant, answer: &mut Answer) {
        self.advance(now, answer);
        if let Some(mut watch) = answer.watch.take() {
            watch.say_bookmark(answer.body());
            answer.watch = Some(watch);
        }
    }

    /// A list of how it was at `revision`, whatever was asked.
    #[must_use]
    pub fn old_list(&self, ask: &Ask, revision: u64) -> Answer {
        let selector = Selector::of(&ask.request.resource).unwrap_or_default();
        Answer::complete(self.page(ask, &selector, Page { revision: Some(revision), first: 0 }, None))
    }

    /// A page that says to go on with the token that led to it.
    #[must_use]
    pub fn repeated_page(&self, token: &str) -> Answer {
        let version = self.log.revision();
        let body = format!(r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[]}}"#);
        Answer::complete(body.into())
    }

    /// The page of a list without an end to which this token leads, if it is a token of such a list: of pages without
    /// items, of two tokens in turn, or of one page more each time.
    #[must_use]
    pub fn endless_page(&self, ask: &Ask, token: &str) -> Option<Answer> {
        let (kind, page) = token.split_once(':')?;
        let page: u64 = page.parse().ok()?;
        let (limit, next) = match kind {
            "empty" => (0, page + 1),
            "turn" => (1, 1 - page.min(1)),
            "endless" => (1, page + 1),
            _ => return None,
        };
        let mut items = Vec::new();
        for (key, object) in self.log.states(self.log.revision()).take(limit) {
            write_json(&mut items, key, &object, ask.request.resource.is_metadata_only());
        }
        let version = self.log.revision();
        let mut body = Vec::new();
        put(
            &mut body,
            format_args!(r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{kind}:{next}"}},"items":["#),
        );
        body.extend_from_slice(&items);
        body.extend_from_slice(b"]}\n");
        Some(Answer::complete(body))
    }

    /// All replicas see what has happened, if they see anything.
    pub fn follow(&mut self) {
        self.replicas.iter_mut().for_each(|replica| replica.follow(&self.log));
    }

    /// Forgets what was before `revision`: who goes on from there must list again.
    pub fn compact(&mut self, revision: u64) {
        self.log.compact(revision);
    }

    /// A backup takes the store's place, and every replica begins anew.
    pub fn restore(&mut self, revision: u64) {
        self.log.restore(revision);
        self.replicas.iter_mut().for_each(|replica| replica.restart(&self.log));
    }

    fn list(&self, ask: &Ask, selector: &Selector, replica: &Replica) -> Result<Answer, Refusal> {
        let Verb::List { limit, continue_token, resource_version } = &ask.request.verb else {
            return Err(Refusal::of(400));
        };
        let (page, limit) = match (continue_token.as_deref(), resource_version.as_deref()) {
            (Some(token), _) => (self.continued(token)?, *limit),
            (None, None) => (Page { revision: Some(self.log.revision()), first: 0 }, *limit),
            // A watch cache answers with everything it has.
            (None, Some("0")) => (Page { revision: Some(replica.applied()), first: 0 }, None),
            (None, Some(version)) => (Page { revision: Some(self.at(version, ask.exact, replica)?), first: 0 }, *limit),
        };
        Ok(Answer::complete(self.page(ask, selector, page, limit)))
    }

    /// The page that a token leads to.
    fn continued(&self, token: &str) -> Result<Page, Refusal> {
        let page = Page::parse(token).ok_or_else(|| Refusal::of(400))?;
        match page.revision {
            Some(revision) if revision < self.log.compacted() => {
                Err(Refusal::expired(&Page { revision: None, ..page }.token()))
            }
            Some(_) => Ok(page),
            None => Ok(Page { revision: Some(self.log.revision()), ..page }),
        }
    }

    /// The revision of a list of this version, or one that is not older.
    fn at(&self, version: &str, exact: bool, replica: &Replica) -> Result<u64, Refusal> {
        let version = number(version)?;
        if exact && version < self.log.compacted() {
            return Err(Refusal::expired(""));
        }
        let newest = if exact { self.log.revision() } else { replica.applied() };
        if version > newest {
            return Err(Refusal::too_large(self.config.too_large, version, newest));
        }
        Ok(if exact { version } else { newest })
    }

    fn page(&self, ask: &Ask, selector: &Selector, page: Page, limit: Option<u32>) -> Vec<u8> {
        let revision = page.revision.unwrap_or_default();
        let metadata_only = ask.request.resource.is_metadata_only();
        let mut left =
            self.log.states(revision).filter(|(key, object)| *key >= page.first && selector.matches(*key, object));
        let (mut items, mut first) = (Vec::new(), true);
        for (key, object) in left.by_ref().take(limit.map_or(usize::MAX, |limit| limit as usize)) {
            if !std::mem::take(&mut first) {
                items.push(b',');
            }
            write_json(&mut items, key, &object, metadata_only);
        }
        let next = left.next().map(|(key, _)| (key, 1 + left.count()));
        let kind = if metadata_only { "PartialObjectMetadataList" } else { "PodList" };
        let mut body = Vec::new();
        put(
            &mut body,
            format_args!(r#"{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"{revision}""#),
        );
        if let Some((first, count)) = next {
            let token = Page { revision: Some(revision), first }.token();
            put(&mut body, format_args!(r#","continue":"{token}""#));
            // With a selector, it is not known.
            if selector.selects_all() {
                put(&mut body, format_args!(r#","remainingItemCount":{count}"#));
            }
        }
        body.extend_from_slice(br#"},"items":["#);
        body.extend_from_slice(&items);
        body.extend_from_slice(b"]}\n");
        body
    }

    fn watch(&self, now: Instant, ask: &Ask, selector: Selector, replica: usize) -> Result<Answer, Refusal> {
        let Verb::Watch { resource_version, timeout, .. } = &ask.request.verb else { return Err(Refusal::of(400)) };
        let metadata_only = ask.request.resource.is_metadata_only();
        let cache = &self.replicas[replica];
        let from = match resource_version.as_deref() {
            None | Some("0") => return Ok(self.initial(now, ask, selector, replica, cache.applied(), Initial::None)),
            Some(version) => number(version)?,
        };
        if from > self.log.revision() && !self.config.waits_for_versions {
            return Err(Refusal::too_large(self.config.too_large, from, cache.applied()));
        }
        let watch = self.timed(self.new_watch(replica, selector, metadata_only, from), now, *timeout);
        let mut answer = Answer::watching(watch);
        if from < cache.oldest(&self.log) {
            let refusal = Refusal::expired("");
            if self.config.refuses_watches {
                return Err(refusal);
            }
            answer.break_watch(&refusal);
        }
        Ok(answer)
    }

    fn watch_list(&self, now: Instant, ask: &Ask, selector: Selector, replica: usize) -> Result<Answer, Refusal> {
        let Verb::Watch { resource_version, .. } = &ask.request.verb else { return Err(Refusal::of(400)) };
        let newest = self.replicas[replica].applied();
        // Whoever names no version asks for the most recent state.
        let wanted = match resource_version.as_deref() {
            None => self.log.revision(),
            Some(version) => number(version)?,
        };
        match self.config.watch_lists {
            WatchLists::Refused => return Err(Refusal::of(422)),
            WatchLists::Endless => return Ok(self.initial(now, ask, selector, replica, newest, Initial::None)),
            WatchLists::Served if wanted > newest => {
                return Err(Refusal::too_large(self.config.too_large, wanted, newest));
            }
            WatchLists::Served => {}
        }
        Ok(self.initial(now, ask, selector, replica, newest, Initial::Until(now + self.config.initial)))
    }

    /// A watch that begins with the state of every object at revision `from`.
    fn initial(
        &self,
        now: Instant,
        ask: &Ask,
        selector: Selector,
        replica: usize,
        from: u64,
        ended: Initial,
    ) -> Answer {
        let timeout = match ask.request.verb {
            Verb::Watch { timeout, .. } => timeout,
            Verb::List { .. } => None,
        };
        let mut answer = Answer::complete(Vec::new());
        let watch = self.new_watch(replica, selector, ask.request.resource.is_metadata_only(), from);
        let watch = watch.beginning_with(&self.log, ended, self.config.early_bookmarks, answer.body());
        answer.watch = Some(self.timed(watch, now, timeout));
        answer
    }

    fn new_watch(&self, replica: usize, selector: Selector, metadata_only: bool, from: u64) -> Watch {
        let watch = Watch::new(replica, selector, metadata_only, from);
        if self.config.says_kinds { watch.saying_kinds() } else { watch }
    }

    fn timed(&self, watch: Watch, now: Instant, timeout: Option<Duration>) -> Watch {
        if self.config.keeps_time { watch.lasting(now, timeout.unwrap_or(USUAL_TIMEOUT)) } else { watch }
    }
}

fn number(version: &str) -> Result<u64, Refusal> {
    version.parse().map_err(|_| Refusal::of(400))
}
