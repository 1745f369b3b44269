//! The bodies of answers.

use super::audience::Seat;
use super::table::TableEvents;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use listwatch::Clock;
use listwatch::clock::Sleep;
use listwatch::testing::{WatchProgress, WatchStream};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of an answer.
pub(super) enum AnswerBody {
    Whole(Option<Bytes>),
    Watch(Box<WatchBody>),
}

/// The body of a watch, which is written as its client reads.
pub(super) struct WatchBody {
    stream: WatchStream,
    clock: Clock,
    timer: Option<Sleep>,
    tables: Option<TableEvents>,
    /// `None` when it is over.
    seat: Option<Seat>,
}

impl AnswerBody {
    pub(super) fn whole(body: Vec<u8>) -> Self {
        Self::Whole((!body.is_empty()).then(|| body.into()))
    }

    pub(super) fn watch(stream: WatchStream, clock: Clock, tables: Option<TableEvents>, seat: Seat) -> Self {
        Self::Watch(Box::new(WatchBody { stream, clock, timer: None, tables, seat: Some(seat) }))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.get_mut() {
            Self::Whole(body) => Poll::Ready(body.take()),
            Self::Watch(watch) => watch.poll(cx),
        };
        bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => SizeHint::with_exact(body.as_ref().map_or(0, |body| body.len() as u64)),
            Self::Watch(_) => SizeHint::default(),
        }
    }
}

impl WatchBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if self.seat.is_none() {
                return Poll::Ready(None);
            }
            let mut events = Vec::new();
            let progress = self.stream.poll(self.clock.now(), cx, &mut events);
            let due = match progress {
                WatchProgress::Open(due) => due,
                WatchProgress::Over => {
                    self.seat = None;
                    None
                }
            };
            if !events.is_empty() {
                let events = self.tables.as_mut().map(|tables| tables.of(&events)).unwrap_or(events);
                return Poll::Ready(Some(events.into()));
            }
            if progress == WatchProgress::Over {
                return Poll::Ready(None);
            }
            self.seat.iter().for_each(Seat::has_told_everything);
            self.timer = due.map(|due| self.clock.sleep_until(due));
            let Some(timer) = &mut self.timer else { return Poll::Pending };
            if Pin::new(timer).poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
