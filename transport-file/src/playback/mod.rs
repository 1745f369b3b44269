//! Playback of recordings.

mod answer;
mod client;
mod config;
mod logged_state;
mod source;
mod steps;
mod summary;

pub use client::PlaybackClient;
pub use config::{Chunks, Pace, PlaybackConfig};
pub use steps::{Step, StepKind, Steps};
pub use summary::{Progress, Summary, Tally};

use crate::body::{BodySurvey, WatchLog};
use crate::capture::{Index, Reader, TapeStart};
use crate::error::CaptureError;
use crate::file::{FileCursor, FileKind, Source, detect};
use answer::{Answer, Part, timed_out};
use core::task::Poll;
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::time::WallTime;
use listwatch_core::transport::{Incoming, ReadContext, TransportError};
use listwatch_core::{Instant, ListerWatcher, Resource};
use source::{AnswerSource, Bodies, Lookup};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A [`ListerWatcher`] that plays a recording.
///
/// ```no_run
/// # fn main() -> Result<(), listwatch_transport_file::CaptureError> {
/// use listwatch_core::request::{Request, RequestId};
/// use listwatch_core::ListerWatcher;
/// use listwatch_transport_file::Playback;
///
/// let mut playback = Playback::from_file("pods.jsonl.gz")?;
/// let resource = playback.resource().cloned(); // for the informer
/// // … an informer polls the playback …
/// assert!(playback.is_complete());
/// if let Some(error) = playback.error() {
///     eprintln!("{error}; played: {:?}", playback.summary());
/// }
/// # Ok(())
/// # }
/// ```
///
/// [The crate's page](crate) has a program that polls.
///
/// # Matching
///
/// Requests match by kind, path and selectors, in the order of the recording. The n-th list of a resource gets the n-th
/// recorded list, with its pages by their continue tokens. The n-th watch gets the n-th recorded watch. A request that
/// failed fails again. Each response keeps its delays after its own request, on the caller's clock.
///
/// Recorded metadata does not answer for whole objects, unless whole ones were recorded too; [`error`](Self::error)
/// reports it. Whole objects answer for metadata, with more than was requested.
///
/// If no watch-list was recorded, it is refused with status 422, as by a server that does not support it. This is assumed
/// if a list of the resource comes next, and no watch-list within 16 MiB behind it.
///
/// A request without a remaining response ends the playback. From then on there is only [`Incoming::Idle`] without a
/// time.
///
/// # Memory
///
/// A capture is read as far as the next answer needs, and once more to play it. The memory does not grow with the file:
///
/// * one record of each open response, and the buffers of the files: up to twice the longest line for each transport;
/// * 65,536 requests that are open at once, of about 300 bytes each. One more is an error of its line;
/// * 4,096 exchanges that no request has asked for, of about 500 bytes each. Older ones are read again if a request asks
///   for them later, in blocks of 1,024. From there on, 1 MiB finds those blocks;
/// * a bit for each recorded request.
///
/// [`summary`](Self::summary) and [`resources`](Self::resources) read the whole capture, in the same memory. A request
/// without a recorded response reads it to its end.
///
/// A log answers for any resource, and of several kinds with the objects of the one that is asked for. A list does so too,
/// unless all of its objects are certainly of other kinds; then [`error`](Self::error) reports these. Of a log the keys are
/// in memory, and one event, or one list with all of its objects; of a file that is a list of one kind one buffer.
///
/// A watch of a log ends by an error of its server, and where the log lists its objects anew: a list, or `ADDED` events of
/// objects that are there, as if `kubectl get --watch` was run again. Then a list shows the objects, without those that
/// are gone, and the next watch goes on behind it.
///
/// Such a list reads the log from its beginning. So behind 16 of them, an error ends a watch only where the log has grown by
/// an eighth. Other errors are passed over, and counted in the [`Summary`].
pub struct Playback {
    config: PlaybackConfig,
    content: AnswerSource,
    cursor: FileCursor,
    current: Option<Current>,
    complete: bool,
    error: Option<CaptureError>,
    summary: Summary,
}

/// The open request.
struct Current {
    id: RequestId,
    /// When the caller first polled for the response.
    began: Option<Instant>,
    answer: Answer,
}

impl Playback {
    /// Opens a recording, and plays it with the recorded delays and chunks.
    ///
    /// # Errors
    /// As [`with_config`](Self::with_config).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        Self::with_config(path, PlaybackConfig::new())
    }

    /// Opens a recording.
    ///
    /// # Errors
    /// If the file cannot be read, has an unknown kind, or has nothing to play before its first bad line. After
    /// everything before a later fault was played, [`error`](Self::error) reports that fault.
    pub fn with_config(path: impl AsRef<Path>, config: PlaybackConfig) -> Result<Self, CaptureError> {
        let path: Arc<Path> = path.as_ref().into();
        let mut source = Source::open(&path)?;
        let cursor = || FileCursor::new(path.clone(), config.line_limit);
        let (kind, file_bytes) = (detect(&mut source)?, source.file_bytes());
        drop(source);
        let content = match kind {
            FileKind::Capture => AnswerSource::Capture(Index::open(&path, config.line_limit, config.skip_bad_lines)?),
            FileKind::WatchLog | FileKind::List => bodies(kind, cursor, config)?,
        };
        let summary = Summary { file_bytes, ..Summary::default() };
        Ok(Self { config, content, cursor: cursor(), current: None, complete: false, error: None, summary })
    }

    /// Returns whether the playback is over: a request had no response left, or the recording ended.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the error that ended the playback early; `None` while it goes on, and after a proper end.
    #[must_use]
    pub fn error(&self) -> Option<&CaptureError> {
        let known = self.error.as_ref().or_else(|| self.content.index().and_then(Index::fault));
        known.filter(|_| self.complete)
    }

    /// Returns where the compressed data of a capture breaks off behind a whole line; `None` if the data is whole.
    ///
    /// The recorder was killed, or the copy was cut. Everything before is played, so this is no [`error`](Self::error).
    /// Plain text does not tell. Reads the whole capture once, unless it was played to its end.
    #[must_use]
    pub fn cut(&self) -> Option<&CaptureError> {
        self.content.index().and_then(Index::cut)
    }

    /// Returns the resource that was listed or watched first, with its metadata-only form.
    ///
    /// `None` for a log and a list, which have no requests.
    #[must_use]
    pub fn resource(&self) -> Option<&Resource> {
        self.content.index().map(Index::resource)
    }

    /// Returns the resources that were listed or watched, in the order of their first requests. The first call reads the
    /// whole capture.
    ///
    /// Those of a log and a list are named by the kinds of their objects.
    pub fn resources(&self) -> &[Resource] {
        self.content.index().map_or_else(|| self.content.body().map_or(&[][..], Bodies::resources), Index::resources)
    }

    /// Returns whether objects of a log or a list do not say of which resource they are, as metadata alone.
    #[must_use]
    pub fn has_unnamed(&self) -> bool {
        self.content.body().is_some_and(|body| body.survey().kinds.iter().any(|kind| !kind.is_named()))
    }

    /// Returns the date at which the recording began, if the file has it. That of a log or a list is the newest date in its
    /// first objects, or follows from the file's own.
    #[must_use]
    pub fn began(&self) -> Option<WallTime> {
        match self.content.body() {
            Some(body) => body.survey().date,
            None => self.start().and_then(|start| start.started),
        }
    }

    /// Returns the first line of a capture; `None` for a watch log and a list.
    #[must_use]
    pub fn start(&self) -> Option<&TapeStart> {
        self.content.index().map(Index::start)
    }

    /// Returns whether a controller was recorded with its reconciles. The file is read up to the first one. A tape with a
    /// seed that breaks off before is one of a controller too.
    #[must_use]
    pub fn has_reconciles(&self) -> bool {
        // The tape of a controller has a seed, so other captures are not searched.
        let mut steps = self.start().is_some_and(|start| start.seed.is_some()).then(|| self.steps());
        steps.as_mut().is_some_and(|steps| steps.next().is_some() || steps.breaks_off().is_some())
    }

    /// Returns the steps of the reconciles that were recorded, in their order: notes, requests and responses.
    #[must_use]
    pub fn steps(&self) -> Steps {
        Steps::new(Reader::new(self.cursor.path(), self.config.line_limit, false))
    }

    /// Makes a client that is answered from the same recording, for the single requests of a controller.
    ///
    /// The playback and its clients share the exchanges, of which each is played once. A watch log and a list have no
    /// responses for clients.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), listwatch_transport_file::CaptureError> {
    /// use listwatch_core::api::{ApiRequest, Calls, Method};
    /// use listwatch_core::Instant;
    /// use listwatch_transport_file::Playback;
    ///
    /// let playback = Playback::from_file("controller.jsonl.gz")?;
    /// let mut calls = Calls::new(playback.client());
    /// let id = calls.open(Instant::ZERO, &ApiRequest::new(Method::Get, "/api/v1/nodes/a"), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn client(&self) -> PlaybackClient {
        let cursor = FileCursor::new(self.cursor.path().clone(), self.config.line_limit);
        PlaybackClient::new(self.config, self.content.index().cloned(), cursor)
    }

    /// Makes a transport for another reflector, which plays what is left of the same recording.
    ///
    /// The playback, its transports and its clients share the exchanges of a capture, of which each is played once. A
    /// watch log and a list answer each transport anew.
    #[must_use]
    pub fn transport(&self) -> Self {
        let cursor = FileCursor::new(self.cursor.path().clone(), self.config.line_limit);
        let (content, summary) =
            (self.content.shared(), Summary { file_bytes: self.summary.file_bytes, ..Summary::default() });
        Self { config: self.config, content, cursor, current: None, complete: false, error: None, summary }
    }

    /// Returns the same playback at another pace, from its next request on.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.config = self.config.pace(pace);
        self
    }

    /// Opens the same recording again, of which nothing is played yet.
    ///
    /// # Errors
    /// As [`with_config`](Self::with_config).
    pub fn again(&self) -> Result<Self, CaptureError> {
        Self::with_config(self.cursor.path(), self.config)
    }

    /// Returns whether this failure stands for a request that the recorded client aborted. A client that aborts at the
    /// same moment by its own deadlines can wait for that.
    #[must_use]
    pub fn is_given_up(error: &TransportError) -> bool {
        *error == timed_out()
    }

    /// Returns whether the recorded client used watch-lists of a resource: whether one was recorded before, or up to 16 MiB
    /// behind, the first list that was not played.
    ///
    /// A watch log and a list have none.
    #[must_use]
    pub fn has_watch_lists_of(&self, resource: &Resource) -> bool {
        self.content.index().is_some_and(|index| index.has_watch_lists(resource))
    }

    /// Returns counts of the requests that were played up to now, and of the file's bytes. Unlike
    /// [`summary`](Self::summary), it reads nothing.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let Summary { lists, watches, watch_lists, file_bytes, .. } = self.summary;
        let answered = lists.answered + watches.answered + watch_lists.answered;
        Progress { answered, file_bytes, file_bytes_played: self.cursor.position() }
    }

    /// Returns counts of the requests that were played up to now, and of those left.
    ///
    /// To count those left, the rest of a capture is read once, unless it was played to its end.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            bad_lines: self.cursor.bad_lines(),
            file_bytes_played: self.cursor.position(),
            told_twice: self.content.body().map_or(0, |body| body.survey().told_twice()),
            passed_errors: self.content.body().map_or(0, Bodies::passed_errors),
            complete: self.complete,
            ..self.summary
        };
        let queries = [Query::List, Query::Watch, Query::WatchList];
        let Some(index) = self.content.index() else {
            queries.into_iter().for_each(|query| summary.tally(query).left = self.content.has_body(query).into());
            return summary;
        };
        let (found, left, bad_lines) = index.counts();
        let (calls, count) = (index.calls(), |count: &AtomicU64| count.load(Ordering::Relaxed));
        let (answered, refused) = (count(&calls.answered), count(&calls.refused));
        summary.calls = Tally { answered, refused, left: left.of(None) };
        (summary.unrecorded, summary.others, summary.bad_lines) = (count(&calls.unrecorded), found.of(None), bad_lines);
        queries.into_iter().for_each(|query| summary.tally(query).left = left.of(Some(query)));
        summary
    }

    /// The next part, if it is due.
    fn read(&mut self, now: Instant, buf: &mut [u8]) -> Incoming {
        let Some(current) = &mut self.current else { return Incoming::Idle { until: None } };
        let due = current.due(now, self.config, &mut self.cursor);
        if now < due {
            return Incoming::Idle { until: Some(due) };
        }
        let (id, len) = (current.id, current.fill(now, self.config, &mut self.cursor, buf));
        if len > 0 {
            self.summary.body_bytes += len as u64;
            return Incoming::Data { id, len };
        }
        match current.answer.pop() {
            Some(Part::Head(head)) => Incoming::Head { id, head },
            Some(Part::End) => self.close(Incoming::End { id }),
            Some(Part::Failed(error)) => self.close(Incoming::Failed { id, error }),
            Some(Part::GivenUp { went_on: true }) => self.close(Incoming::Failed { id, error: timed_out() }),
            Some(Part::Broken(error)) => {
                self.error = Some(error);
                self.finish()
            }
            Some(Part::Data(_) | Part::GivenUp { went_on: false } | Part::RecordingEnd) | None => self.finish(),
        }
    }

    /// Ends the current request.
    fn close(&mut self, last: Incoming) -> Incoming {
        self.leave();
        last
    }

    /// Leaves the current request. A client does that itself behind an error of a watch.
    fn leave(&mut self) {
        if let Some(Current { answer, .. }) = self.current.take() {
            self.content.on_end(answer, &mut self.cursor);
        }
    }

    /// Ends the playback.
    fn finish(&mut self) -> Incoming {
        self.complete = true;
        self.close(Incoming::Idle { until: None })
    }
}

/// The answers of a file that is a list or a log. A list is delivered as it is, unless it has several kinds.
fn bodies(
    kind: FileKind,
    cursor: impl Fn() -> FileCursor,
    config: PlaybackConfig,
) -> Result<AnswerSource, CaptureError> {
    let survey = BodySurvey::read(kind, &mut cursor(), config.skip_bad_lines);
    let is_list = kind == FileKind::List;
    if is_list && (survey.kinds.len() < 2 || survey.fault.is_some()) {
        return Ok(AnswerSource::bodies(Arc::new(survey), is_list, None));
    }
    let begin = WatchLog::new(&mut cursor(), config.skip_bad_lines)?;
    let survey =
        if is_list { BodySurvey::read(FileKind::WatchLog, &mut cursor(), config.skip_bad_lines) } else { survey };
    let begin = begin.with_good(survey.good).without(survey.twice.clone().unwrap_or_default());
    Ok(AnswerSource::bodies(Arc::new(survey), is_list, Some(begin)))
}

impl ListerWatcher for Playback {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.leave();
        if self.complete {
            return;
        }
        let tally = self.summary.tally(request.query());
        let answer = match self.content.reply(request, self.config, &self.cursor) {
            Lookup::Answered(answer) => {
                tally.answered += 1;
                answer
            }
            Lookup::Refused(answer) => {
                tally.refused += 1;
                answer
            }
            Lookup::Refusal(error) => Answer::broken(error),
            Lookup::Nothing => {
                self.complete = true;
                return;
            }
        };
        self.current = Some(Current { id, began: None, answer });
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        Poll::Ready(self.read(context.now, buf))
    }

    fn abort(&mut self, id: RequestId) {
        if self.current.as_ref().is_some_and(|current| current.id == id) {
            self.leave();
        }
    }
}

impl Current {
    /// When the next part is due.
    fn due(&mut self, now: Instant, config: PlaybackConfig, cursor: &mut FileCursor) -> Instant {
        let began = *self.began.get_or_insert(now);
        let (delay, _) = self.answer.peek(cursor);
        config.due(began, *delay)
    }

    /// Copies data that is due to the front of `buf`, and returns its length; zero if the next part is no data.
    fn fill(&mut self, now: Instant, config: PlaybackConfig, cursor: &mut FileCursor, buf: &mut [u8]) -> usize {
        let most = config.most().min(buf.len());
        let mut len = 0;
        while let (_, Part::Data(chunk)) = self.answer.peek(cursor) {
            len += chunk.read(&mut buf[len..most]);
            let goes_on = chunk.has_more() || config.chunks == Chunks::Whole;
            if chunk.is_empty() {
                self.answer.pop();
            }
            if len == most || !goes_on || self.due(now, config, cursor) > now {
                break;
            }
        }
        len
    }
}

listwatch_core::summary!("Playback" for Playback, |it| {
    path: it.cursor.path(), config: it.config, complete: it.complete, error: it.error,
});
