//! An exchange over a connection in a task.

use super::buffered::{Exchange, Piece, Received};
use super::error::ExchangeError;
use super::get::Get;
use core::fmt::Display;
use embedded_io_async::{Read, Write};

impl<const N: usize> Exchange<N> {
    /// Sends a request. The connection is new, or the exchange before says that it is
    /// [reusable](Exchange::is_reusable). After an error, and after a drop of the future, it is of no more use.
    pub async fn open_async<W: Write, T: Display>(
        &mut self,
        connection: &mut W,
        request: &Get<'_, T>,
    ) -> Result<(), ExchangeError<W::Error>> {
        self.begin();
        while !self.send_async(connection, request).await? {}
        Ok(())
    }

    /// Reads the next part of the answer; data goes to the front of `buf`. If the future is dropped, and the connection
    /// loses no byte by that, the next read goes on where it was. If `buf` is empty, nothing is read.
    pub async fn read_async<R: Read>(
        &mut self,
        connection: &mut R,
        buf: &mut [u8],
    ) -> Result<Received, ExchangeError<R::Error>> {
        loop {
            if let Some(received) = self.read_once_async(connection, buf).await? {
                return Ok(received);
            }
        }
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

    /// Writes once. Returns whether the whole request was sent; if not, the next call goes on.
    pub(super) async fn send_async<W: Write, T: Display>(
        &mut self,
        connection: &mut W,
        request: &Get<'_, T>,
    ) -> Result<bool, ExchangeError<W::Error>> {
        let unsent = self.unsent(request)?;
        let (len, mut written) = (unsent.len(), 0);
        if len > 0 {
            written = connection.write(unsent).await.map_err(ExchangeError::Connection)?;
            self.handle_sent(written)?;
        }
        if len == N || written < len {
            return Ok(false);
        }
        connection.flush().await.map_err(ExchangeError::Connection)?;
        self.wipe();
        Ok(true)
    }

    /// Reads once at most. `None` if the bytes that arrived complete no part of the answer.
    pub(super) async fn read_once_async<R: Read>(
        &mut self,
        connection: &mut R,
        buf: &mut [u8],
    ) -> Result<Option<Received>, ExchangeError<R::Error>> {
        if buf.is_empty() {
            return Ok(Some(Received::Data(0)));
        }
        if let Some(part) = self.try_part(buf.len())? {
            return Ok(Some(self.received(part, buf)));
        }
        if self.is_in_body() {
            let len = connection.read(buf).await.map_err(ExchangeError::Connection)?;
            let kept = self.unframe(buf, len)?;
            if kept > 0 {
                return Ok(Some(Received::Data(kept)));
            }
        } else {
            let len = connection.read(self.space()).await.map_err(ExchangeError::Connection)?;
            self.handle_read(len)?;
        }
        let part = self.try_part(buf.len())?;
        Ok(part.map(|part| self.received(part, buf)))
    }
}
