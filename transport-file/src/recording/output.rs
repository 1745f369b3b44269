//! A capture that other files are converted to.

use super::writer::CaptureWriter;
use crate::capture::format::{End, Line, MOST_TIME, Payload, Record, RequestRecord, ResponseRecord, Text};
use crate::capture::{Data, TapeStart};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use listwatch_core::time::WallTime;
use std::collections::BTreeMap;
use std::path::Path;

/// A capture, line by line; or nothing, for a reading that only looks.
#[derive(Default)]
pub(crate) struct CaptureOutput {
    writer: Option<CaptureWriter>,
    start: Option<WallTime>,
    t: u64,
    requests: u64,
}

impl CaptureOutput {
    /// Begins a file. The end of its name decides on its compression.
    pub(crate) fn create(path: &Path, start: TapeStart) -> Result<Self, CaptureError> {
        let (mut writer, started) = (CaptureWriter::create(path)?, start.started);
        writer.write(Line::Start(1, start))?;
        Ok(Self { writer: Some(writer), start: started, ..Self::default() })
    }

    pub(crate) fn is_written(&self) -> bool {
        self.writer.is_some()
    }

    /// Goes on to a date, unless it has passed.
    pub(crate) fn pass_to(&mut self, date: Option<WallTime>) -> Result<(), Fault> {
        self.t = self.t.max(self.time_of(date).unwrap_or_default());
        let message = "the dates of the log are more than a hundred years apart; correct or delete the line";
        if self.t <= MOST_TIME { Ok(()) } else { Err(Fault::new(CaptureErrorKind::Record, message)) }
    }

    /// The time of a date.
    fn time_of(&self, date: Option<WallTime>) -> Option<u64> {
        let (start, date) = self.start.zip(date)?;
        Some(u64::try_from(date.as_unix_millis() - start.as_unix_millis()).unwrap_or_default())
    }

    /// Begins a request that arrived at a date, and returns its id.
    pub(crate) fn received(&mut self, request: RequestRecord<'_>, date: Option<WallTime>) -> Result<u64, Fault> {
        self.pass_to(date)?;
        let received = self.time_of(date).filter(|received| *received < self.t);
        self.request(RequestRecord { received, ..request })
    }

    /// Begins a request, and returns its id.
    pub(crate) fn request(&mut self, request: RequestRecord<'_>) -> Result<u64, Fault> {
        self.requests += 1;
        self.write(self.requests, Payload::Request(request)).map(|()| self.requests)
    }

    pub(crate) fn answer(&mut self, id: u64, status: u16, body: Option<&str>) -> Result<(), Fault> {
        let headers = BTreeMap::from([("content-type".into(), Text("application/json".into()))]);
        self.write(id, Payload::Response(ResponseRecord { status, headers }))?;
        body.map_or(Ok(()), |body| self.data(id, body))
    }

    pub(crate) fn data(&mut self, id: u64, text: &str) -> Result<(), Fault> {
        self.write(id, Payload::Data(Data::new(text.as_bytes(), false)))
    }

    pub(crate) fn end(&mut self, id: u64, end: End<'_>) -> Result<(), Fault> {
        self.write(id, Payload::End(end))
    }

    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        let finished = self.writer.as_mut().map_or(Ok(()), CaptureWriter::finish);
        finished.map_err(|error| Fault::new(error.kind(), error.to_string()))
    }

    fn write(&mut self, id: u64, payload: Payload<'_>) -> Result<(), Fault> {
        let line = Line::Record(Record { t: self.t, id, payload });
        let written = self.writer.as_mut().map_or(Ok(()), |writer| writer.write(line));
        written.map_err(|error| Fault::new(error.kind(), error.to_string()))
    }
}
