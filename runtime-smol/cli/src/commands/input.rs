//! The file that a command reads: the one that was named, or what it was converted to.

use super::bundle::Bundle;
use super::yaml::{to_json, yaml_of};
use crate::error::CommandError;
use crate::output::messages;
use listwatch::file::{AuditLog, CaptureError, CaptureErrorKind, ExportedEvents};
use listwatch::text::Counted;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that is read: the one that was named, or what its YAML, its objects, its Events or its audit log were converted to,
/// which goes with this.
pub(super) struct Input {
    named: PathBuf,
    converted: Option<PathBuf>,
}

impl Input {
    /// Converts an audit log, a folder of them, a folder or an archive of objects, a file of Events alone, or one of YAML whose
    /// documents have kinds. Any other file stays as it is, and so does YAML that cannot be converted: its reader says what it is.
    pub(super) fn of(named: &Path) -> Result<Self, CommandError> {
        let mut input = Self { named: named.into(), converted: None };
        if let Some((log, others)) = audit_log(named)? {
            input.capture(&log, others)?;
        } else if let Some(bundle) = Bundle::at(named) {
            input.list(&bundle)?;
        } else if let Some(text) = yaml_of(named)? {
            let mut json = Vec::new();
            if to_json(&text, &mut json).is_some() {
                let file = input.create()?;
                write(&json, file, named).map_err(CommandError::NoRoom)?;
            }
        }
        // Opening a pipe takes what its reader would read.
        if input.path().is_file()
            && let Ok(Some(events)) = ExportedEvents::open(input.path())
        {
            input.events(&events)?;
        }
        Ok(input)
    }

    /// Makes a capture of an audit log, and says what the log has. So many other files are in its folder.
    fn capture(&mut self, log: &AuditLog, others: u64) -> Result<(), CommandError> {
        let path = self.converted.insert(temporary("jsonl.zst"));
        messages::print(format_args!("audit log: {}", log.write_capture(path)?));
        if others > 0 {
            let others = Counted(others, "file of the folder is no audit log", "files of the folder are no audit logs");
            messages::print(format_args!("{others}, and left out"));
        }
        Ok(())
    }

    /// Makes a capture of a file that has Events alone, and says which.
    fn events(&mut self, events: &ExportedEvents) -> Result<(), CommandError> {
        let path = temporary("jsonl.zst");
        let written = events.write_capture(&path);
        let gone = match &written {
            Ok(Some(summary)) => {
                messages::print(format_args!("Events at their own times: {summary}"));
                self.converted.replace(path)
            }
            Ok(None) | Err(_) => Some(path),
        };
        let _may_be_gone = gone.map(std::fs::remove_file);
        written.map_or_else(|error| Err(error.into()), |_| Ok(()))
    }

    /// Makes one list of a folder or an archive of objects.
    fn list(&mut self, bundle: &Bundle) -> Result<(), CommandError> {
        let file = self.create()?;
        let contents = bundle.write_list(BufWriter::new(&file))?;
        let dated = contents.written.map_or(Ok(()), |written| file.set_modified(written));
        dated.map_err(CommandError::NoRoom)?;
        messages::print(format_args!("{}: {} with {contents}", self.named.display(), bundle.noun()));
        Ok(())
    }

    /// A new file that only its owner may read.
    fn create(&mut self) -> Result<File, CommandError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let path = temporary("json");
        let file = options.open(&path).map_err(CommandError::NoRoom)?;
        self.converted = Some(path);
        Ok(file)
    }

    /// The file to read.
    pub(super) fn path(&self) -> &Path {
        self.converted.as_deref().unwrap_or(&self.named)
    }

    /// An error of a command, of the file that was named.
    pub(super) fn command_error(&self, error: CommandError) -> CommandError {
        match error {
            CommandError::Capture(error) => CommandError::Capture(self.error(error)),
            error => error,
        }
    }

    /// An error of the file that was named.
    pub(super) fn error(&self, error: CaptureError) -> CaptureError {
        error.of_file(&self.named)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let _may_be_gone = self.converted.as_ref().map(std::fs::remove_file);
    }
}

/// A path for a file that goes with this process.
fn temporary(ending: &str) -> PathBuf {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
    std::env::temp_dir().join(format!("listwatch-input-{process}-{number}.{ending}"))
}

/// The audit log at a path, or all of those in a folder, and how many other files are there.
fn audit_log(named: &Path) -> Result<Option<(AuditLog, u64)>, CaptureError> {
    if !named.is_dir() {
        return Ok(part_of_log(named)?.map(|log| (log, 0)));
    }
    let files = named.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let (mut logs, mut others, mut unreadable) = (Vec::new(), 0, Vec::new());
    for path in files.filter(|path| path.is_file()) {
        match part_of_log(&path) {
            Ok(Some(_)) => logs.push(path),
            Ok(None) => others += 1,
            Err(error) if error.kind() == CaptureErrorKind::Order => return Err(error),
            Err(error) => unreadable.push(error),
        }
    }
    others += unreadable.len() as u64;
    match unreadable.into_iter().next() {
        _ if !logs.is_empty() => Ok(Some((AuditLog::open(&logs)?, others))),
        Some(error) if others == 1 => Err(error),
        _ => Ok(None),
    }
}

/// The audit log in a file, unless it is another one, of which its own reader tells the faults.
fn part_of_log(path: &Path) -> Result<Option<AuditLog>, CaptureError> {
    match AuditLog::open([path]) {
        Ok(log) => Ok(Some(log)),
        Err(error) => match error.kind() {
            CaptureErrorKind::Garbled | CaptureErrorKind::Order | CaptureErrorKind::Record => Err(error),
            _ => Ok(None),
        },
    }
}

/// Writes the JSON, as old as the file that it comes from: that may be the only date of its objects.
fn write(json: &[u8], mut file: File, named: &Path) -> io::Result<()> {
    file.write_all(json)?;
    file.set_modified(named.metadata()?.modified()?)
}
