//! A tape that keeps its last minutes in memory, and is dumped into files.

use super::config::RecorderConfig;
use super::dump;
use super::ring::Ring;
use super::sink::{Sink, in_memory};
use super::tape::Tape;
use super::writer::CaptureWriter;
use crate::capture::TapeStart;
use crate::error::{CaptureError, Fault};
use core::time::Duration;
use listwatch_core::Instant;
use std::path::{Path, PathBuf};

impl Tape {
    /// A tape in memory, of the last `window` and within so many bytes. Where there is more, the window is shorter. Of what
    /// is older it keeps the objects of each list-and-watch. [`dump_to`](Self::dump_to) writes it to a file.
    ///
    /// A dump needs up to as many bytes again while it is written.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_core::Instant;
    /// use listwatch_transport_file::{RecorderConfig, Tape};
    ///
    /// # let folder = std::env::temp_dir().join(format!("flight-tape-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let tape = Tape::in_memory(Duration::from_secs(300), 64 << 20, RecorderConfig::new());
    /// // … informers poll its transports, and a controller sends requests by its client …
    /// let dump = tape.dump_to(folder.join("dump.jsonl.zst"), Instant::ZERO, "by hand")?;
    /// assert!(dump.ends_with("dump.jsonl.zst"));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn in_memory(window: Duration, bytes: usize, config: RecorderConfig) -> Self {
        Self::keeping(Sink::Memory(Ring::new(window, bytes).into()), config)
    }

    /// Whether it is kept in memory.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.with_ring(|_| ()).is_some()
    }

    /// How many bytes it holds in memory; zero for a tape in a file.
    #[must_use]
    pub fn held(&self) -> usize {
        self.with_ring(|ring| ring.held()).unwrap_or_default()
    }

    /// Writes what a tape in memory has to a new file or, if it exists, to the next one, as [`create`](Self::create) names
    /// it. The file is a recording of its own, and is there when it is whole. On Unix, only its owner may read it. The first
    /// line says the cause. Records go on meanwhile.
    ///
    /// The recording begins with a list of each list-and-watch that has synced. It has the reconciles that began in the
    /// window.
    ///
    /// # Errors
    /// If the file cannot be written, and for a tape that is not in memory.
    pub fn dump_to(&self, path: impl AsRef<Path>, now: Instant, cause: &str) -> Result<PathBuf, CaptureError> {
        let (path, (cut, next_request)) = (path.as_ref(), self.cut(path.as_ref(), now)?);
        let start = TapeStart { dumped: Some(cause.to_owned()), ..self.start().clone() };
        let mut writer = CaptureWriter::create_unfinished(path)?;
        let written = dump::write(&in_memory(cut)?, start, next_request, &mut writer);
        match written.and_then(|()| writer.finish()) {
            Ok(()) => writer.publish(path),
            Err(error) => {
                writer.discard();
                let why = error.message().split(';').next().unwrap_or_default();
                let message = format!("the dump {why}; nothing of it is kept: make room in its folder");
                Err(CaptureError::new(path, None, Fault::new(error.kind(), message)))
            }
        }
    }
}
