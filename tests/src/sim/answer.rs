//! A server's answer to one request, and its continuation.

use super::refusal::Refusal;
use super::watch::Watch;
use listwatch_core::Instant;
use listwatch_core::transport::ResponseHead;

/// An answer: its head at once, its body as it comes.
#[derive(Debug)]
pub struct Answer {
    head: ResponseHead,
    bytes: Vec<u8>,
    read: usize,
    pub(super) watch: Option<Watch>,
}

impl Answer {
    /// An answer that is complete.
    #[must_use]
    pub fn complete(bytes: Vec<u8>) -> Self {
        Self { head: head(200, None, "application/json"), bytes, read: 0, watch: None }
    }

    /// An answer that goes on.
    #[must_use]
    pub(super) fn watching(watch: Watch) -> Self {
        Self { watch: Some(watch), ..Self::complete(Vec::new()) }
    }

    /// Status and headers.
    #[must_use]
    pub fn head(&self) -> &ResponseHead {
        &self.head
    }

    /// What was said and not yet read.
    #[must_use]
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    /// Moves what there is to `buf`, as much as fits.
    pub fn read(&mut self, buf: &mut [u8]) -> usize {
        let len = self.unread().len().min(buf.len());
        buf[..len].copy_from_slice(&self.bytes[self.read..self.read + len]);
        self.read += len;
        if self.read == self.bytes.len() {
            self.bytes.clear();
            self.read = 0;
        }
        len
    }

    /// Whether it goes on with what happens.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.watch.is_some()
    }

    /// Whether the initial events of a watch-list are still to be ended.
    #[must_use]
    pub fn has_initial_events(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::has_initial_events)
    }

    /// When the server has something to say, or to end, by itself.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.watch.as_ref()?.poll_timeout()
    }

    /// Ends a watch by an error in the stream.
    pub fn break_watch(&mut self, refusal: &Refusal) {
        if self.watch.take().is_some() {
            self.bytes.extend_from_slice(br#"{"type":"ERROR","object":"#);
            self.bytes.extend_from_slice(refusal.body.as_bytes());
            self.bytes.extend_from_slice(b"}\n");
        }
    }

    /// A watch gets no bookmarks from now on.
    pub fn withhold_bookmarks(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.without_bookmarks();
        }
    }

    pub(super) fn body(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let head = head(refusal.status, Some(&refusal), refusal.content_type);
        Self { head, ..Self::complete(refusal.body.into_bytes()) }
    }
}

fn head(status: u16, refusal: Option<&Refusal>, content_type: &str) -> ResponseHead {
    let retry_after = refusal.and_then(|refusal| refusal.retry_after);
    ResponseHead { status, retry_after, content_type: Some(content_type.into()) }
}
