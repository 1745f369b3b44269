//! An informer over a decoder of the caller's. Its objects are `Copy`, it holds 64 bytes, and no JSON is involved.

use core::ops::Range;
use listwatch_core::cache::IndexId;
use listwatch_core::decode::{Decode, DecodeError, Ending, EventType, Part, Status, Versioned};
use listwatch_core::informer::{EventOf, InformerIn};
use listwatch_core::reflector::{Action, Failure};
use listwatch_core::request::{Query, RequestId};
use listwatch_core::storage::{Heap, Keyed};
use listwatch_core::transport::{Incoming, ResponseHead};
use listwatch_core::{Indexer, InformerConfig, Instant, Resource};

/// What is kept of a sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sensor {
    number: u16,
    uid: u16,
    version: [u8; 3],
    celsius: i16,
}

impl Keyed for Sensor {
    type Key = u16;

    fn key(&self) -> &u16 {
        &self.number
    }
}

impl Versioned for Sensor {
    fn resource_version(&self) -> &str {
        core::str::from_utf8(&self.version).unwrap_or_default()
    }

    fn is_same_object(&self, other: &Self) -> bool {
        self.uid == other.uid
    }

    fn is_same_state(&self, other: &Self) -> bool {
        self.is_same_object(other) && self.version == other.version
    }
}

/// Reads lines: `is NUMBER UID VERSION CELSIUS` and `end VERSION` in a list; `added`, `modified`, `deleted` with the same
/// words, and `upto VERSION`, in a watch.
#[derive(Debug)]
struct Lines {
    room: [u8; 64],
    unread: Range<usize>,
    query: Query,
    status: u16,
    /// The version in the last line of a list.
    end: Option<[u8; 3]>,
}

impl Default for Lines {
    fn default() -> Self {
        Self { room: [0; 64], unread: 0..0, query: Query::List, status: 0, end: None }
    }
}

impl Decode for Lines {
    type Object = Sensor;

    fn start(&mut self, query: Query, head: &ResponseHead) {
        (self.query, self.status, self.end) = (query, head.status, None);
        self.unread.start = self.unread.end;
    }

    fn space(&mut self) -> &mut [u8] {
        self.room.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        &mut self.room[self.unread.end..]
    }

    fn take(&mut self, len: usize) {
        self.unread.end = (self.unread.end + len).min(self.room.len());
    }

    fn next_part(&mut self) -> Option<Part<Sensor>> {
        loop {
            let unread = &self.room[self.unread.clone()];
            let len = unread.iter().position(|byte| *byte == b'\n')?;
            let line = String::from_utf8_lossy(&unread[..len]).into_owned();
            self.unread.start += len + 1;
            match line.strip_prefix("end ").and_then(version) {
                Some(version) => self.end = Some(version),
                None => return Some(part(&line)),
            }
        }
    }

    fn finish(&mut self) -> Ending<'_> {
        match (self.status, self.query, &self.end) {
            (200, Query::List, Some(version)) => {
                Ending::List { resource_version: core::str::from_utf8(version).unwrap_or_default(), continue_token: "" }
            }
            (200, Query::List, None) => Ending::TruncatedList,
            (200, ..) => Ending::Watch,
            (status, ..) => Ending::Refusal(Status::of_code(status)),
        }
    }
}

fn part(line: &str) -> Part<Sensor> {
    let words: Vec<&str> = line.split(' ').collect();
    let event_type = match words[0] {
        "upto" => return Part::Bookmark { version: words[1].into(), initial_events_end: false },
        "modified" => Some(EventType::Modified),
        "deleted" => Some(EventType::Deleted),
        "added" => Some(EventType::Added),
        _ => None,
    };
    match (sensor(&words), event_type) {
        (Some(sensor), Some(event_type)) => Part::Event(event_type, sensor),
        (Some(sensor), None) => Part::Item(sensor),
        (None, event_type) => {
            let (key, version) = (words[1].parse().ok(), words.get(3).map(|version| (*version).into()));
            Part::Undecodable(DecodeError { key, version, event_type, error: "no sensor".into() })
        }
    }
}

fn sensor(words: &[&str]) -> Option<Sensor> {
    let [_, number, uid, of, celsius] = words else { return None };
    let (number, uid, celsius) = (number.parse().ok()?, uid.parse().ok()?, celsius.parse().ok()?);
    Some(Sensor { number, uid, version: version(of)?, celsius })
}

fn version(text: &str) -> Option<[u8; 3]> {
    text.as_bytes().try_into().ok()
}

/// An informer of sensors that frost is an index of.
struct Talk {
    informer: InformerIn<Lines, Indexer<Sensor>, Heap>,
    frost: IndexId,
    id: RequestId,
}

fn talk() -> Talk {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    config.queue_limit = 1;
    let mut informer =
        InformerIn::<_, _, Heap>::with_decoder(Resource::new("/sensors"), config, Lines::default(), Indexer::default());
    let frost = informer.add_index(|sensor: &Sensor, emit| {
        if sensor.celsius < 0 {
            emit("frost");
        }
    });
    informer.start(Instant::ZERO);
    Talk { informer, frost, id: RequestId::default() }
}

impl Talk {
    fn asked(&mut self) -> String {
        match self.informer.poll_action() {
            Some(Action::Open(id, request)) => {
                self.id = id;
                request.to_string()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Answers with `body`, which comes in pieces of seven bytes, and takes the events.
    fn answered(&mut self, status: u16, body: &str) -> Vec<String> {
        let (id, now) = (self.id, Instant::ZERO);
        self.informer.handle(now, Incoming::Head { id, head: ResponseHead { status, ..ResponseHead::default() } });
        let mut told = Vec::new();
        for piece in body.as_bytes().chunks(7) {
            self.informer.space()[..piece.len()].copy_from_slice(piece);
            self.informer.handle(now, Incoming::Data { id, len: piece.len() });
            told.extend(self.told());
        }
        self.informer.handle(now, Incoming::End { id });
        told.extend(self.told());
        told
    }

    fn told(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Some(event) = self.informer.poll_event() {
            told.push(match &event {
                EventOf::Added { object, initial } => format!("added {} {} {initial}", object.number, object.celsius),
                EventOf::Updated { old, new } => format!("updated {} {} to {}", new.number, old.celsius, new.celsius),
                EventOf::Recreated { old, new } => format!("recreated {}: {} is {}", new.number, old.uid, new.uid),
                EventOf::Deleted { object, final_state_known } => {
                    format!("deleted {} {final_state_known}", object.number)
                }
                EventOf::Synced => "synced".to_string(),
                EventOf::Undecodable(error) => error.to_string(),
                EventOf::Failed(report) => report.failure.to_string(),
                other => panic!("{:?}", other.key()),
            });
        }
        told
    }

    fn frosts(&self) -> Vec<u16> {
        self.informer.cache().index_keys(self.frost, "frost").copied().collect()
    }
}

#[test]
fn a_decoder_of_the_callers_own_goes_through_queue_and_cache() {
    let mut talk = talk();
    assert_eq!(talk.asked(), "/sensors?limit=500");
    let told = talk.answered(200, "is 1 1 010 -5\nis 2 2 012 20\nis 3 3 013 7\nend 020\n");
    assert_eq!(told, ["added 1 -5 true", "added 2 20 true", "added 3 7 true", "synced"]);
    assert_eq!((talk.frosts(), talk.informer.cache().len()), (vec![1], 3));

    let asked = talk.asked();
    assert!(asked.contains("watch=1") && asked.contains("resourceVersion=020"), "{asked}");
    let watch = "modified 2 2 021 -1\nadded 4 4 022 8\ndeleted 1 1 023 -5\nadded 3 9 024 7\nadded 5\nupto 030\nmod";
    let told = talk.answered(200, watch);
    let changes = ["updated 2 20 to -1", "added 4 8 false", "deleted 1 true", "recreated 3: 3 is 9"];
    assert_eq!(told[..5], [&changes[..], &["5: no sensor"]].concat());
    assert_eq!((talk.frosts(), talk.informer.cache().len()), (vec![2], 3));
    assert_eq!(talk.informer.applied_version(), Some("030"));
}

#[test]
fn a_decoder_of_the_callers_own_tells_refusals_and_lists_that_break_off() {
    let mut talk = talk();
    _ = talk.asked();
    assert_eq!(talk.answered(403, "no"), [Failure::Status(Status::of_code(403).into()).to_string()]);

    let mut talk = self::talk();
    _ = talk.asked();
    assert_eq!(talk.answered(200, "is 1 1 010 -5\n"), [Failure::Truncated.to_string()]);
    assert!(talk.informer.cache().is_empty());
}
