//! An exchange over a connection in a task.

use super::buffered::{Exchange, Piece, Received};
use super::error::ExchangeError;
use super::get::Get;
use core::fmt::Display;
use embedded_io_async::{Read, Write};

impl<const N: usize> Exchange<N> {
    /// Sends a request. The connection is new, or the exchange before says that it is
    /// [reusable](Exchange::is_reusable).
    pub async fn open_async<W: Write, T: Display>(
        &mut self,
        connection: &mut W,
        request: &Get<'_, T>,
    ) -> Result<(), ExchangeError<W::Error>> {
        self.begin();
        loop {
            let mut unsent = self.unsent(request)?;
            let len = unsent.len();
            while !unsent.is_empty() {
                let written = connection.write(unsent).await.map_err(ExchangeError::Connection)?;
                unsent = unsent.get(written..).filter(|_| written > 0).ok_or(ExchangeError::Unwritten)?;
            }
            self.handle_sent(len);
            if len < N {
                return connection.flush().await.map_err(ExchangeError::Connection);
            }
        }
    }

    /// Reads the next part of the answer; data goes to the front of `buf`. If the future is dropped, and the connection
    /// loses no byte by that, the next read goes on where it was. If `buf` is empty, nothing is read.
    pub async fn read_async<R: Read>(
        &mut self,
        connection: &mut R,
        buf: &mut [u8],
    ) -> Result<Received, ExchangeError<R::Error>> {
        while !buf.is_empty() {
            if let Some(part) = self.try_part(buf.len())? {
                return Ok(self.received(part, buf));
            }
            if self.is_in_body() {
                let len = connection.read(buf).await.map_err(ExchangeError::Connection)?;
                let kept = self.unframe(buf, len)?;
                if kept > 0 {
                    return Ok(Received::Data(kept));
                }
            } else {
                let len = connection.read(self.space()).await.map_err(ExchangeError::Connection)?;
                self.handle_read(len)?;
            }
        }
        Ok(Received::Data(0))
    }

    /// Reads the next part of the answer; data stays in the exchange's buffer. Otherwise as
    /// [`read_async`](Exchange::read_async).
    pub async fn receive_async<R: Read>(&mut self, connection: &mut R) -> Result<Piece<'_>, ExchangeError<R::Error>> {
        loop {
            if let Some(part) = self.try_part(N)? {
                return Ok(self.piece(part));
            }
            let len = connection.read(self.space()).await.map_err(ExchangeError::Connection)?;
            self.handle_read(len)?;
        }
    }
}
