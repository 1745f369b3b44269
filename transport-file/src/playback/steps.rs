//! What reconciles did, in the order of the tape.

use super::answer::{Part, ending};
use crate::capture::format::{Line, Payload, Record, RequestRecord};
use crate::capture::{Call, Calls, Note, NoteKind, Order, Read, Reader, SentCall, Stage};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use core::fmt;
use core::time::Duration;
use listwatch_core::api::{ApiResponse, Reply};
use std::collections::BTreeSet;

/// The steps of the reconciles on a tape. [`Playback::steps`](crate::Playback::steps) makes it.
///
/// An error is the last item: a line that cannot be read, a note that is missing, or one that contradicts those before it.
/// So bad lines are not skipped, whatever the [configuration](crate::PlaybackConfig::skip_bad_lines): a replay without them
/// would be another one.
pub struct Steps {
    /// `None` behind the last step.
    reader: Option<Reader>,
    notes: Noted,
    breaks_off: Option<String>,
}

/// What the notes and requests up to here say.
#[derive(Default)]
struct Noted {
    /// The open requests of reconciles.
    open: Calls,
    /// The reconciles that began and did not end.
    running: BTreeSet<u64>,
    /// The number of the last note; zero before the first.
    last: u64,
    /// The last line that is not blank.
    last_line: u64,
    is_finished: bool,
    has_hashes: bool,
}

/// One step of a reconcile.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The time since the recording began.
    pub at: Duration,
    /// The line of the file.
    pub line: u64,
    /// The number of the reconcile.
    pub reconcile: u64,
    /// What it did.
    pub kind: StepKind,
}

/// What a reconcile did.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// It began, read, asked for the date, or ended.
    Noted(Note),
    /// It sent a request.
    Sent(SentCall),
    /// The request of this id was answered, or failed.
    Answered(u64, Reply),
    /// The reconcile gave up the request of this id.
    GivenUp(u64),
}

/// How many reconciles a message names.
const NAMED: usize = 3;

impl Steps {
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader: Some(reader), notes: Noted::default(), breaks_off: None }
    }

    /// Behind the last step, says where the tape ends and which reconciles have no outcome, if it has no last line: its
    /// recorder was killed, or the file was cut behind a whole line. `None` for a tape that is whole.
    #[must_use]
    pub fn breaks_off(&self) -> Option<&str> {
        self.breaks_off.as_deref()
    }

    /// Whether keyed hashes stand for the values of Secrets or tokens, up to the last step.
    #[must_use]
    pub fn has_hashes(&self) -> bool {
        self.notes.has_hashes
    }

    fn read(&mut self) -> Result<Option<Step>, CaptureError> {
        let Some(mut reader) = self.reader.take() else { return Ok(None) };
        while let Some(step) = reader.next(|read| self.notes.read(read))? {
            if step.is_some() {
                self.reader = Some(reader);
                return Ok(step);
            }
        }
        self.breaks_off = self.notes.breaks_off();
        Ok(None)
    }
}

impl Noted {
    /// Where a tape without a last line breaks off.
    fn breaks_off(&self) -> Option<String> {
        let numbers: Vec<String> = self.running.iter().take(NAMED).map(u64::to_string).collect();
        let more = self.running.len() - numbers.len();
        let running = match (numbers.len(), more) {
            (0, _) => String::new(),
            (1, _) => format!("reconcile {} has no outcome: ", numbers[0]),
            (_, 0) => format!("reconciles {} have no outcome: ", numbers.join(", ")),
            _ => format!("reconciles {} and {more} more have no outcome: ", numbers.join(", ")),
        };
        let (line, why) = (self.last_line, "the recorder was killed, or the file was cut");
        (!self.is_finished).then(|| format!("the tape breaks off after line {line}; {running}{why}"))
    }

    fn read(&mut self, Read { place, line, order }: Read<'_>) -> Result<Option<Step>, Fault> {
        self.last_line = place.line;
        let (t, found) = match (line, order) {
            (Line::Finished(_), _) => {
                self.is_finished = true;
                return Ok(None);
            }
            (Line::Note(t, number, note), _) => {
                self.check(number, &note)?;
                (t, Some((note.reconcile, StepKind::Noted(note))))
            }
            (Line::Record(Record { t, id, payload: Payload::Request(request) }), _) => {
                (t, self.request(t, id, &request)?)
            }
            (Line::Record(Record { t, id, payload }), Order::Behind(before)) => (t, self.record(id, before, payload)),
            (Line::Start(..) | Line::Record(_), _) => return Ok(None),
        };
        let step = |(reconcile, kind)| Step { at: Duration::from_millis(t), line: place.line, reconcile, kind };
        Ok(found.map(step))
    }

    fn request(&mut self, t: u64, id: u64, request: &RequestRecord<'_>) -> Result<Option<(u64, StepKind)>, Fault> {
        self.has_hashes |= request.hashed;
        let Some(reconcile) = request.by else { return Ok(None) };
        if !self.running.contains(&reconcile) && self.last == 0 {
            return Err(contradicts(format_args!("a request of reconcile {reconcile}, which did not begin")));
        }
        let call = Call::of(t, id, request);
        let sent = StepKind::Sent(call.request.clone());
        self.open.open(call);
        Ok(Some((reconcile, sent)))
    }

    /// A further record of a request, which was at this stage before.
    fn record(&mut self, id: u64, before: Stage, payload: Payload<'_>) -> Option<(u64, StepKind)> {
        let Payload::End(end) = &payload else {
            self.open.take(id, &payload, usize::MAX);
            return None;
        };
        let Call { reconcile, answer, .. } = self.open.end(id, end)?;
        let answered = |answer: Option<ApiResponse>| answer.unwrap_or_else(|| ApiResponse::new(0, Vec::new()));
        let kind = match ending(before, &end.how) {
            _ if end.by_client => StepKind::GivenUp(id),
            Part::Failed(error) => StepKind::Answered(id, Reply::Failed(error)),
            _ => StepKind::Answered(id, Reply::Answered(answered(answer))),
        };
        Some((reconcile?, kind))
    }

    /// Checks that no note is missing before this one.
    fn check(&mut self, order: u64, note: &Note) -> Result<(), Fault> {
        let expected = self.last + 1;
        if order != expected {
            return Err(contradicts(format_args!("note {order} stands where note {expected} belongs")));
        }
        self.last = order;
        let number = note.reconcile;
        let is_in_order = match note.kind {
            NoteKind::Began { .. } => self.running.insert(number),
            NoteKind::Ended { .. } => self.running.remove(&number),
            NoteKind::Date { .. } | NoteKind::Read { .. } => self.running.contains(&number),
        };
        if is_in_order {
            return Ok(());
        }
        Err(match note.kind {
            NoteKind::Began { .. } => contradicts(format_args!("reconcile {number} begins again")),
            _ => contradicts(format_args!("a note of reconcile {number}, which does not run here")),
        })
    }
}

impl Iterator for Steps {
    type Item = Result<Step, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map_err(CaptureError::without_skipping).transpose()
    }
}

listwatch_core::summary!("Steps" for Steps, |it| { line: it.notes.last_line });

fn contradicts(what: impl fmt::Display) -> Fault {
    let message = format!("{what}: lines are missing or out of order; replay the tape as it was recorded");
    Fault::new(CaptureErrorKind::Order, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(name: &str, lines: &[&str]) -> Vec<Result<Step, String>> {
        let path = std::env::temp_dir().join(format!("listwatch-steps-{name}-{}", std::process::id()));
        std::fs::write(&path, lines.join("\n")).unwrap();
        let steps = Steps::new(Reader::new(&path.as_path().into(), usize::MAX, false));
        let steps = steps.map(|step| step.map_err(|error| error.to_string())).collect();
        std::fs::remove_file(path).unwrap();
        steps
    }

    const BEGAN: &str = r#"{"t":5,"reconcile":7,"of":"foos","key":"web/a","attempt":1,"causes":[],"note":1}"#;
    const SENT: &str = r#"{"t":6,"id":3,"request":{"method":"POST","path":"/api/v1/nodes","headers":{"content-type":"application/json"},"body":"{}"},"by":7}"#;
    const ENDED: &str = r#"{"t":9,"reconcile":7,"of":"foos","outcome":"done","note":2}"#;

    #[test]
    fn steps_are_those_of_reconciles_with_whole_answers() {
        let lines = [
            r#"{"capture":1}"#,
            r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/nodes","headers":{}}}"#,
            BEGAN,
            SENT,
            r#"{"t":6,"id":1,"response":{"status":200,"headers":{}}}"#,
            r#"{"t":7,"id":3,"response":{"status":201,"headers":{}}}"#,
            r#"{"t":7,"id":3,"data":"{\"a\":1}"}"#,
            r#"{"t":8,"id":3,"end":"eof"}"#,
            ENDED,
        ];
        let steps: Vec<Step> = steps("whole", &lines).into_iter().map(Result::unwrap).collect();
        let places: Vec<_> = steps.iter().map(|step| (step.line, step.reconcile)).collect();
        assert_eq!(places, [(3, 7), (4, 7), (8, 7), (9, 7)]);
        let StepKind::Sent(sent) = &steps[1].kind else { panic!("{:?}", steps[1]) };
        assert_eq!((&*sent.method, &*sent.target, &*sent.body), ("POST", "/api/v1/nodes", &b"{}"[..]));
        assert_eq!(sent.content_type.as_deref(), Some("application/json"));
        assert_eq!(steps[2].kind, StepKind::Answered(3, Reply::Answered(ApiResponse::new(201, *br#"{"a":1}"#))));
    }

    #[test]
    fn notes_that_are_missing_or_contradict_others_are_an_error_at_their_line() {
        for (lines, error) in [
            (&[ENDED][..], "1: note 2 stands where note 1 belongs"),
            (&[BEGAN, BEGAN], "2: note 1 stands where note 2 belongs"),
            (&[SENT], "1: a request of reconcile 7, which did not begin"),
            (
                &[r#"{"t":9,"reconcile":7,"of":"foos","outcome":"done","note":1}"#],
                "1: a note of reconcile 7, which does not run here",
            ),
        ] {
            let steps = steps("missing", lines);
            let Some(Err(found)) = steps.last() else { panic!("{steps:?}") };
            let found = found.split_once(':').map_or("", |(_, rest)| rest);
            assert!(found.starts_with(error), "{found}");
            assert!(
                found.ends_with("lines are missing or out of order; replay the tape as it was recorded"),
                "{found}"
            );
        }
    }

    #[test]
    fn more_than_65536_open_requests_are_an_error() {
        let mut lines = vec![BEGAN.to_owned()];
        lines.extend((1..=(1 << 16) + 1).map(|id| SENT.replace(r#""id":3"#, &format!(r#""id":{id}"#))));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let steps = steps("open", &lines);
        let Some(Err(found)) = steps.last() else { panic!("{:?}", steps.last()) };
        assert!(found.contains(":65538: more than 65536 requests are open at once"), "{found}");
    }

    #[test]
    fn a_bad_line_of_a_tape_comes_without_advice_to_skip_it() {
        let steps = steps("skipped", &[BEGAN, r#"{"t":1,"id""#]);
        let Some(Err(found)) = steps.last() else { panic!("{steps:?}") };
        assert!(found.ends_with(":2: the line breaks off at column 11; correct or delete the line"), "{found}");
    }

    #[test]
    fn a_note_that_comes_centuries_later_is_an_error() {
        let steps = steps("centuries", &[&BEGAN.replacen("\"t\":5", "\"t\":18446744073709551615", 1)]);
        let Some(Err(found)) = steps.last() else { panic!("{steps:?}") };
        assert!(found.contains(":1: not a record of a capture: \"t\" is more than a hundred years"), "{found}");
    }
}
