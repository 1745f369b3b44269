use crate::lock::Lock;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The socket of a connection, and how it is read.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Shared with the handle that shuts it down from another thread, and with a reactor.
    pub(super) stream: Arc<TcpStream>,
    is_polled: AtomicBool,
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream: Arc::new(stream), is_polled: AtomicBool::new(false) }
    }

    /// Lets no read and no write block any more, until the next response. A read that would block fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), and may be repeated.
    pub(crate) fn poll(&self) -> io::Result<Arc<TcpStream>> {
        self.stream.set_nonblocking(true)?;
        self.is_polled.store(true, Ordering::SeqCst);
        Ok(self.stream.clone())
    }

    /// Lets reads and writes block.
    pub(super) fn block(&self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.is_polled.store(false, Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn is_polled(&self) -> bool {
        self.is_polled.load(Ordering::SeqCst)
    }
}

/// The socket that was written to last: that of the response, if there is one request at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastWire(Arc<Lock<Weak<Wire>>>);

impl LastWire {
    pub(super) fn set(&self, wire: &Arc<Wire>) {
        *self.0.lock() = Arc::downgrade(wire);
    }

    /// `None` once it is closed.
    pub(crate) fn get(&self) -> Option<Arc<Wire>> {
        self.0.lock().upgrade()
    }
}
