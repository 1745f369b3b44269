//! The network between a client and a server: one connection at a time, and its effect on an answer.

use super::answer::Answer;
use super::dice::Dice;
use super::fault::Fault;
use super::server::Server;
use listwatch_core::Instant;
use listwatch_core::request::RequestId;
use listwatch_core::time::earliest;
use listwatch_core::transport::{Incoming, ResponseHead, TransportError, TransportErrorKind};
use std::time::Duration;

/// A request on its way, and its answer.
#[derive(Debug)]
pub struct Connection {
    id: RequestId,
    answer: Answer,
    stage: Stage,
    /// When the next piece can be read.
    next: Instant,
    pieces: Pieces,
    /// After how many bytes it breaks off, and how.
    cut: Option<(usize, Fault)>,
    /// When it ends, whatever the server has to say.
    until: Option<Instant>,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// There will be no answer.
    Failing(TransportErrorKind),
    Head,
    Body,
    /// Nothing comes any more, and nobody says so.
    Mute,
    Over,
}

/// In how large pieces bytes arrive, and with how much time between them.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// The most bytes of a piece.
    pub most: usize,
    /// How long the first piece takes.
    pub latency: Duration,
    /// Up to how long each further one takes.
    pub pause: Duration,
}

impl Pieces {
    /// Some of the ways there are.
    pub(super) fn draw(dice: &mut Dice) -> Self {
        let most = match dice.below(32) {
            0 => 1,
            1 => 7,
            2..6 => 64,
            6..12 => 700,
            _ => usize::MAX,
        };
        let latency = Duration::from_micros(dice.pick(&[0, 300, 20_000, 400_000]));
        let pause = Duration::from_millis(dice.pick(&[0, 0, 5, 900]));
        Self { most, latency, pause }
    }
}

impl Default for Pieces {
    fn default() -> Self {
        Self { most: usize::MAX, latency: Duration::from_millis(3), pause: Duration::ZERO }
    }
}

impl Connection {
    /// A request was sent at `now`, and this is what the server has to say.
    #[must_use]
    pub fn new(now: Instant, id: RequestId, answer: Answer, pieces: Pieces) -> Self {
        Self { id, answer, stage: Stage::Head, next: now + pieces.latency, pieces, cut: None, until: None }
    }

    /// Whose answer it is.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// The answer.
    pub fn answer_mut(&mut self) -> &mut Answer {
        &mut self.answer
    }

    /// Whether the answer is one that goes on, and has begun to be read.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.answer.is_watch() && self.stage == Stage::Body
    }

    /// Whether more of the answer will come.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self.stage, Stage::Head | Stage::Body)
    }

    /// There will be no answer, because of this.
    pub fn fail(&mut self, kind: TransportErrorKind) {
        self.stage = Stage::Failing(kind);
    }

    /// From now on nothing comes, and nobody says so.
    pub fn fall_silent(&mut self) {
        self.stage = Stage::Mute;
    }

    /// It is broken: what has not been read is lost.
    pub fn reset(&mut self) {
        match self.stage {
            Stage::Body => self.cut = Some((0, Fault::CutByReset)),
            // What there never was cannot be broken.
            Stage::Failing(_) | Stage::Over => {}
            Stage::Head | Stage::Mute => self.fail(TransportErrorKind::Reset),
        }
    }

    /// It breaks off after so many bytes.
    pub fn cut_after(&mut self, bytes: usize, how: Fault) {
        self.cut = Some((bytes, how));
    }

    /// Everything takes so much longer.
    pub fn delay(&mut self, time: Duration) {
        self.next = self.next + time;
    }

    /// What comes from now on comes without pauses.
    pub fn speed_up(&mut self) {
        self.pieces.pause = Duration::ZERO;
    }

    /// It ends in good order at this time.
    pub fn end_at(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// Since when there has been something to read.
    #[must_use]
    pub fn waits_since(&self) -> Option<Instant> {
        let unread = !self.answer.unread().is_empty();
        matches!((self.stage, unread), (Stage::Head, _) | (Stage::Body, true)).then_some(self.next)
    }

    /// When something comes.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.stage {
            Stage::Mute | Stage::Over => None,
            Stage::Failing(_) | Stage::Head => Some(self.next),
            Stage::Body if !self.answer.unread().is_empty() || matches!(self.cut, Some((0, _))) => Some(self.next),
            Stage::Body => earliest(self.answer.poll_timeout(), self.until).map(|due| due.max(self.next)),
        }
    }

    /// What comes next, if it has come.
    pub fn poll(&mut self, now: Instant, server: &mut Server, dice: &mut Dice, buf: &mut [u8]) -> Option<Incoming> {
        if now < self.next {
            return None;
        }
        match self.stage {
            Stage::Mute | Stage::Over => None,
            Stage::Failing(kind) => Some(self.failed(kind)),
            Stage::Head => Some(self.begin(now)),
            Stage::Body => self.read(now, server, dice, buf),
        }
    }

    fn begin(&mut self, now: Instant) -> Incoming {
        self.stage = Stage::Body;
        self.next = now;
        let head: ResponseHead = self.answer.head().clone();
        Incoming::Head { id: self.id, head }
    }

    fn read(&mut self, now: Instant, server: &mut Server, dice: &mut Dice, buf: &mut [u8]) -> Option<Incoming> {
        let over = server.advance(now, &mut self.answer);
        if let Some((0, how)) = self.cut {
            return self.break_off(how);
        }
        let left = self.cut.map_or(usize::MAX, |(left, _)| left);
        let most = self.pieces.most.min(left).min(buf.len());
        let most = if most > 1 && self.pieces.most < usize::MAX { 1 + dice.below(most as u64) as usize } else { most };
        let len = self.answer.read(&mut buf[..most]);
        if len > 0 {
            self.cut = self.cut.map(|(left, how)| (left - len, how));
            if self.pieces.pause > Duration::ZERO && dice.chance(10) {
                self.next = now + dice.between(Duration::ZERO, self.pieces.pause);
            }
            return Some(Incoming::Data { id: self.id, len });
        }
        (over || self.until.is_some_and(|until| until <= now)).then(|| self.end())
    }

    fn break_off(&mut self, how: Fault) -> Option<Incoming> {
        match how {
            Fault::CutBySilence => {
                self.fall_silent();
                None
            }
            Fault::CutByEnd => Some(self.end()),
            _ => Some(self.failed(TransportErrorKind::Reset)),
        }
    }

    fn end(&mut self) -> Incoming {
        self.stage = Stage::Over;
        Incoming::End { id: self.id }
    }

    fn failed(&mut self, kind: TransportErrorKind) -> Incoming {
        self.stage = Stage::Over;
        Incoming::Failed { id: self.id, error: TransportError::new(kind, "") }
    }
}
