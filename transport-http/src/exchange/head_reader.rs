use super::body::Body;
use super::error::ProtocolError;
use super::fields::Fields;
use super::head::Head;
use super::limits;
use super::lines::Lines;

/// Reads the head of an answer, and passes over interim answers (1xx) before it.
#[derive(Debug)]
pub(super) struct HeadReader {
    lines: Lines,
    has_begun: bool,
    /// What the lines said; `None` before the status line.
    fields: Option<Fields>,
}

/// A whole head, and what follows from it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) head: Head,
    pub(super) body: Body,
    /// Whether the server keeps the connection open behind the body.
    pub(super) is_persistent: bool,
}

impl HeadReader {
    pub(super) const fn new() -> Self {
        Self { lines: Lines::new(limits::HEAD), has_begun: false, fields: None }
    }

    /// Whether a byte of the answer has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Reads bytes up to the end of the head. Returns how many it took, and the answer if its head is complete.
    pub(super) fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(usize, Option<Answer>), ProtocolError> {
        self.has_begun |= !bytes.is_empty();
        let mut at = 0;
        loop {
            let read = self.lines.handle_bytes(&bytes[at..]).ok_or(ProtocolError::LongHead)?;
            // Where a status line is due, other bytes are another protocol.
            let (taken, is_line) =
                read.map_err(|e| if self.fields.is_some() { e } else { ProtocolError::StatusLine })?;
            at += taken;
            if !is_line {
                return Ok((at, None));
            }
            if let Some(answer) = self.handle_line()? {
                return Ok((at, Some(answer)));
            }
            self.lines.next_line();
        }
    }

    /// Reads the line that is complete. Returns the answer behind the last line of its head.
    fn handle_line(&mut self) -> Result<Option<Answer>, ProtocolError> {
        let line = self.lines.line();
        let Some(fields) = &mut self.fields else {
            self.fields = Some(Fields::of_status_line(line.text)?);
            return Ok(None);
        };
        if !line.is_empty() {
            return fields.handle_header(&line).map(|()| None);
        }
        let answer = Answer { head: fields.head(), body: fields.body(), is_persistent: fields.is_persistent() };
        self.fields = None;
        match answer.head.status {
            101 => Err(ProtocolError::Upgrade),
            100..200 => Ok(None),
            _ => Ok(Some(answer)),
        }
    }
}
