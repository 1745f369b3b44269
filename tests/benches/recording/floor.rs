//! The least that a recording costs: the bodies, copied together and written to a file.

use core::task::Poll;
use listwatch::transport::ListerWatcher;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// As many bytes as a tape writes together.
const BLOCK: usize = 64 * 1024;

/// A transport whose data go to a file, and nothing else.
pub(crate) struct Floor<L> {
    transport: L,
    file: BufWriter<File>,
}

impl<L> Floor<L> {
    pub(crate) fn create(path: &Path, transport: L) -> Self {
        Self { transport, file: BufWriter::with_capacity(BLOCK, File::create(path).unwrap()) }
    }
}

impl<L: ListerWatcher> ListerWatcher for Floor<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.transport.open(id, request);
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let polled = self.transport.poll_read(turn, buf);
        if let Poll::Ready(Incoming::Data { len, .. }) = &polled {
            self.file.write_all(&buf[..*len]).unwrap();
        }
        polled
    }

    fn abort(&mut self, id: RequestId) {
        self.transport.abort(id);
    }
}
