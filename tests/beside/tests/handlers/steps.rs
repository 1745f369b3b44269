//! An exchange as client-go has to be served it: the same bytes, in lists and streams that it asks for.
//!
//! The two ask differently where something fails: ours watches on where client-go lists again, and tries a page once more.
//! That is no difference in what handlers are told. So a page that failed and came again is left out, a watch that was
//! refused is too, and a stream ends in a way that makes client-go do as ours did: by the error 410 before a list, and
//! without an error before a watch. client-go itself repeats a whole list that is refused after a page has expired, where
//! ours begins with pages again: both are left out, so that page fails.

use crate::handlers::exchange::{Asked, Ended};
use listwatch_core::Instant;
use listwatch_core::request::Query;
use serde::Serialize;
use serde::de::IgnoredAny;

/// A list with all of its pages, or a stream.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Step {
    kind: Kind,
    answers: Vec<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    List,
    WatchList,
    Watch,
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    at: u64,
    /// 0 where there is no answer.
    status: u16,
    r#type: String,
    retry_after: u64,
    pieces: Vec<Piece>,
    end: &'static str,
    end_at: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Piece {
    at: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    /// In place of a text that is not UTF-8.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bytes: Vec<u8>,
}

const GONE: &str =
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}"#;
const ERROR: &[u8] = br#"{"type":"ERROR""#;
const INITIAL_END: &[u8] = br#""k8s.io/initial-events-end":"true""#;

/// The steps of all that was asked.
pub(crate) fn steps(asked: &[Asked]) -> Vec<Step> {
    let groups = groups(asked);
    let mut steps = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        let next = groups.get(place + 1).map(|group| group.kind);
        let mut answers: Vec<_> = group.asked.iter().map(|asked| Answer::of(asked)).collect();
        let was_read = group.was_read(next);
        for (place, answer) in answers.iter_mut().enumerate() {
            match group.kind {
                Kind::List if was_read || place + 1 < group.asked.len() => answer.end = "eof",
                Kind::Watch | Kind::WatchList if was_read => answer.lead_to(next),
                _ => {}
            }
        }
        steps.push(Step { kind: group.kind, answers });
        if let (Kind::List, Some(refused), Some(Kind::List | Kind::WatchList)) = (group.kind, group.refused, next) {
            let mut answer = Answer { status: 200, r#type: "application/json".into(), ..Answer::of(refused) };
            answer.pieces.clear();
            answer.lead_to(next);
            steps.push(Step { kind: Kind::Watch, answers: vec![answer] });
        }
    }
    steps
}

/// The requests of one step.
struct Group<'a> {
    kind: Kind,
    asked: Vec<&'a Asked>,
    /// A watch after it that was refused.
    refused: Option<&'a Asked>,
}

impl Group<'_> {
    /// Whether it is a list of which a page has expired, so that a whole list is next.
    fn has_expired(&self) -> bool {
        self.asked
            .last()
            .is_some_and(|last| last.is_page && last.head.as_ref().is_some_and(|(_, head)| head.status == 410))
    }

    /// Whether ours went on from it: it is a watch, or a whole state, whatever came after its last byte.
    fn was_read(&self, next: Option<Kind>) -> bool {
        let has_state = |asked: &&Asked| asked.body().windows(INITIAL_END.len()).any(|part| part == INITIAL_END);
        match self.kind {
            Kind::List => self.refused.is_some() || next == Some(Kind::Watch),
            Kind::WatchList => self.asked.iter().any(has_state),
            Kind::Watch => true,
        }
    }
}

fn groups(asked: &[Asked]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (place, asked_now) in asked.iter().enumerate() {
        let next = asked.get(place + 1).filter(|next| next.is_page);
        let failed = next.is_some_and(|next| !asked_now.is_accepted() || next.target == asked_now.target);
        let kind = Kind::of(asked_now.query);
        match groups.last_mut() {
            Some(_) if asked_now.is_page && failed => {}
            Some(list) if asked_now.is_page => list.asked.push(asked_now),
            last if kind == Kind::Watch && !asked_now.is_accepted() => {
                last.into_iter().for_each(|last| last.refused = Some(asked_now));
            }
            Some(list) if list.has_expired() && kind == Kind::List && !asked_now.is_accepted() => {
                list.asked.pop();
            }
            _ => groups.push(Group { kind, asked: vec![asked_now], refused: None }),
        }
    }
    groups
}

impl Kind {
    fn of(query: Query) -> Self {
        match query {
            Query::List => Self::List,
            Query::WatchList => Self::WatchList,
            Query::Watch => Self::Watch,
        }
    }
}

impl Answer {
    fn of(asked: &Asked) -> Self {
        let ended = asked.end.map_or(0, |(at, _)| at.as_nanos());
        let pieces = asked.pieces.iter().map(|(at, bytes)| Piece::of(*at, bytes)).collect();
        let end = match asked.end {
            None => "open",
            Some((_, Ended::Eof)) => "eof",
            Some((_, Ended::Failed(_) | Ended::GivenUp)) => "reset",
        };
        let Some((at, head)) = &asked.head else { return Self { at: ended, end, end_at: ended, ..Self::default() } };
        Self {
            at: at.as_nanos(),
            status: head.status,
            r#type: head.content_type.as_deref().unwrap_or_default().to_owned(),
            retry_after: head.retry_after.unwrap_or_default().as_secs(),
            pieces,
            end,
            end_at: ended,
        }
    }

    /// A stream ends so that client-go asks for this next.
    fn lead_to(&mut self, next: Option<Kind>) {
        self.cut_error();
        self.cut_value();
        self.end = if next.is_some() { "eof" } else { "open" };
        if matches!(next, Some(Kind::List | Kind::WatchList)) {
            self.pieces.push(Piece { at: self.end_at, text: format!("{GONE}\n"), bytes: Vec::new() });
        }
    }

    /// Leaves out an error event, and what comes after it.
    fn cut_error(&mut self) {
        let body: Vec<u8> = self.pieces.iter().flat_map(Piece::as_bytes).copied().collect();
        let starts = |place: &usize| body[*place..].starts_with(ERROR) && (*place == 0 || body[*place - 1] == b'\n');
        if let Some(place) = (0..body.len()).find(starts) {
            self.truncate(place);
        }
    }

    /// Leaves out an event that has no end: client-go would take it for an error.
    fn cut_value(&mut self) {
        let body: Vec<u8> = self.pieces.iter().flat_map(Piece::as_bytes).copied().collect();
        let mut values = serde_json::Deserializer::from_slice(&body).into_iter::<IgnoredAny>();
        while let Some(Ok(_)) = values.next() {}
        self.truncate(values.byte_offset());
    }

    fn truncate(&mut self, mut left: usize) {
        for piece in &mut self.pieces {
            let at = Instant::from_nanos(piece.at);
            let bytes = piece.as_bytes()[..left.min(piece.as_bytes().len())].to_vec();
            left -= bytes.len();
            *piece = Piece::of(at, &bytes);
        }
        self.pieces.retain(|piece| !piece.as_bytes().is_empty());
    }
}

impl Piece {
    fn of(at: Instant, bytes: &[u8]) -> Self {
        let at = at.as_nanos();
        match str::from_utf8(bytes) {
            Ok(text) => Self { at, text: text.to_owned(), bytes: Vec::new() },
            Err(_) => Self { at, text: String::new(), bytes: bytes.to_vec() },
        }
    }

    fn as_bytes(&self) -> &[u8] {
        if self.bytes.is_empty() { self.text.as_bytes() } else { &self.bytes }
    }
}
