//! What breaks a rule is noticed: by an observer of an informer in fixed memory, of which part is hidden or changed.

use super::*;
use crate::sim::{Answer, Ask, InFixed, Server, ServerConfig, Write};
use listwatch_core::reflector::Action;
use listwatch_core::request::{Query, RequestId};
use listwatch_core::transport::Incoming;
use listwatch_core::{InformerConfig, Instant, Resource};

const NOW: Instant = Instant::ZERO;

type Small = InFixed<2, 3>;
type Event = EventOf<crate::sim::ObjectOf<Small>>;

/// A server, an informer that has room for two of its three pods, and the observer of it.
struct Stage {
    server: Server,
    informer: InformerOf<Small>,
    observer: Observer,
    open: Option<(RequestId, Answer)>,
}

impl Stage {
    /// A server that has as many pods, which the informer has listed.
    fn with_pods(pods: KeyNumber) -> Self {
        let mut stage = Self::new("", pods);
        stage.goes_on();
        stage
    }

    fn new(selector: &str, pods: KeyNumber) -> Self {
        let resource = Resource::new("/api/v1/pods").with_label_selector(selector);
        let mut config = InformerConfig::default();
        config.reflector.watch_list = false;
        let observer = Observer::new(3, Selector::of(&resource).unwrap(), false, config.queue_limit);
        let mut server = Server::new(ServerConfig::sound(3));
        (0..pods).for_each(|key| server.log.put(key, Write::default()));
        let mut informer = Small::informer(resource, config);
        informer.start(Instant::ZERO);
        Self { server, informer, observer: observer.with_room(Small::ROOM), open: None }
    }

    /// Brings what the server says to the informer, and what the informer tells to the observer.
    fn goes_on(&mut self) {
        self.goes_on_with(str::to_owned, |event| vec![event]);
    }

    /// The same, but of what the server says `said` remains, and of each event `told`.
    fn goes_on_with(&mut self, said: impl Fn(&str) -> String, told: impl Fn(Event) -> Vec<Event>) {
        loop {
            self.send();
            self.take(&told);
            let Some((id, mut answer)) = self.open.take() else { break };
            self.server.bookmark(NOW, &mut answer);
            let text = said(&String::from_utf8_lossy(answer.unread()));
            while answer.read(&mut [0; 64]) > 0 {}
            for byte in text.bytes() {
                self.informer.space()[0] = byte;
                self.informer.handle(NOW, Incoming::Data { id, len: 1 });
                self.take(&told);
            }
            if answer.is_watch() {
                self.open = Some((id, answer));
                break;
            }
            self.informer.handle(NOW, Incoming::End { id });
        }
        self.observer.check::<Small>(&self.informer, &self.server.log);
    }

    fn send(&mut self) {
        while let Some(action) = self.informer.poll_action() {
            let Action::Open(id, request) = action else { panic!("{action:?}") };
            if request.query() == Query::List {
                self.observer.note_listing(&self.server.log);
            }
            let answer = self.server.open(NOW, &Ask::from(&request), 0);
            let head = answer.head().clone();
            self.open = Some((id, answer));
            self.informer.handle(NOW, Incoming::Head { id, head });
        }
    }

    fn take(&mut self, told: &impl Fn(Event) -> Vec<Event>) {
        while let Some(event) = self.informer.poll_event() {
            told(event).iter().for_each(|event| self.observer.note(event, &self.server.log));
        }
    }

    fn has_caught_up(&self) -> bool {
        self.observer.has_caught_up(&self.server.log)
    }
}

#[test]
fn an_informer_that_does_as_it_should_breaks_no_rule() {
    let mut stage = Stage::with_pods(2);
    assert!(stage.has_caught_up());
    stage.server.log.put(2, Write::default());
    assert!(!stage.has_caught_up(), "it has yet to hear of the third");
    stage.goes_on();
    assert!(stage.has_caught_up() && stage.informer.wanted() == Some(3));
    stage.server.log.delete(2);
    stage.server.log.delete(0);
    stage.goes_on();
    assert_eq!(stage.observer.held(), 1);
    assert!(!stage.has_caught_up(), "there is room, so the state is to be read again");
}

#[test]
#[should_panic(expected = "the deletion of pod 1 was missed at 5")]
fn a_deletion_that_the_informer_lost_is_noticed() {
    let mut stage = Stage::with_pods(2);
    stage.server.log.delete(1);
    stage.server.log.put(0, Write::default());
    stage.goes_on_with(|said| lines_without("DELETED", said), |event| vec![event]);
}

#[test]
#[should_panic(expected = "the cache lacks what was told")]
fn a_deletion_that_was_not_told_is_noticed() {
    let mut stage = Stage::with_pods(2);
    stage.server.log.delete(1);
    stage.goes_on_with(str::to_owned, |event| if is_deletion(&event) { vec![] } else { vec![event] });
}

#[test]
#[should_panic(expected = "pod 1 is told to be deleted, and never was")]
fn a_deletion_that_the_informer_invented_is_noticed() {
    let mut stage = Stage::with_pods(2);
    stage.server.log.put(1, Write::default());
    stage.goes_on_with(|said| said.replace("MODIFIED", "DELETED"), |event| vec![event]);
}

#[test]
#[should_panic(expected = "deleted, but it was not there")]
fn a_deletion_that_was_told_twice_is_noticed() {
    let mut stage = Stage::with_pods(2);
    stage.server.log.delete(1);
    stage.goes_on_with(
        str::to_owned,
        |event| if is_deletion(&event) { vec![event.clone(), event] } else { vec![event] },
    );
}

#[test]
#[should_panic(expected = "added, but it is there already")]
fn an_object_that_was_added_twice_is_noticed() {
    let mut stage = Stage::new("", 2);
    stage.goes_on_with(str::to_owned, |event| vec![event.clone(), event]);
}

#[test]
#[should_panic(expected = "pod 1 is missing at 3")]
fn an_object_that_the_informer_lost_is_noticed() {
    let mut stage = Stage::new("", 0);
    stage.goes_on();
    (0..2).for_each(|key| stage.server.log.put(key, Write::default()));
    stage.goes_on_with(|said| lines_without("pod-001", said), |event| vec![event]);
}

/// A full cache is no excuse before it says that it is full.
#[test]
#[should_panic(expected = "pod 2 is missing at 4")]
fn an_object_that_a_full_cache_lost_in_silence_is_noticed() {
    let mut stage = Stage::with_pods(2);
    stage.server.log.put(2, Write::default());
    stage.goes_on_with(|said| lines_without("pod-002", said), |event| vec![event]);
}

#[test]
fn a_lack_of_room_that_nobody_was_told_is_noticed() {
    let mut stage = Stage::new("", 3);
    stage.goes_on_with(str::to_owned, |event| if matches!(event, EventOf::Failed(_)) { vec![] } else { vec![event] });
    assert!(stage.observer.lacks && !stage.has_caught_up());
}

#[test]
#[should_panic(expected = "2 are wanted")]
fn a_lack_of_room_for_what_is_held_is_noticed() {
    let mut stage = Stage::new("", 3);
    stage.goes_on_with(str::to_owned, |mut event| {
        if let EventOf::Failed(report) = &mut event {
            report.failure = Failure::DoesNotFit { wanted: 2 };
        }
        vec![event]
    });
}

/// A server that repeats what is not selected tells it, and a list withdraws it.
#[test]
fn an_object_that_is_never_selected_is_not_missed_when_undecodable() {
    let mut stage = Stage::new("app=a", 0);
    stage.goes_on();
    stage.server.log.put(0, Write { app: 1, ..Write::default() });
    let pod =
        r#"{"metadata":{"namespace":"ns-0","name":"pod-000","uid":"1","resourceVersion":"2"},"spec":{"value":10}}"#;
    let said = ["ADDED", "DELETED"].map(|kind| format!("{{\"type\":\"{kind}\",\"object\":{pod}}}\n")).concat();
    stage.goes_on_with(|bookmark| said.clone() + bookmark, |event| vec![event]);
    stage.server.log.put(0, Write { health: Health::Bad, ..Write::default() });
    stage.goes_on();
    assert!(stage.observer.gone[0].is_some() && stage.observer.told[0].is_none());
}

fn is_deletion(event: &Event) -> bool {
    matches!(event, EventOf::Deleted { .. })
}

fn lines_without(text: &str, said: &str) -> String {
    said.split_inclusive('\n').filter(|line| !line.contains(text)).collect()
}
