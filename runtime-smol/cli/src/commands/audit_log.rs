//! Audit logs, as captures.

use crate::error::CommandError;
use crate::output::messages;
use listwatch::file::{AuditLog, CaptureError};
use listwatch::text::Counted;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Converts an audit log, or all of those in a folder, to a capture that only its owner may read. Says what the log has.
/// Returns `None` for a path that is neither.
pub(super) fn capture_of(named: &Path) -> Result<Option<PathBuf>, CommandError> {
    let Some((log, others)) = log_of(named) else { return Ok(None) };
    static CAPTURES: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), CAPTURES.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(format!("listwatch-audit-{process}-{number}.jsonl.zst"));
    let summary = log.write_capture(&path).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
    messages::print(format_args!("audit log: {summary}"));
    if others > 0 {
        let others = Counted(others, "file of the folder is no audit log", "files of the folder are no audit logs");
        messages::print(format_args!("{others}, and left out"));
    }
    Ok(Some(path))
}

/// The log at a path, and how many other files are in the folder.
fn log_of(named: &Path) -> Option<(AuditLog, u64)> {
    if !named.is_dir() {
        return Some((AuditLog::open([named]).ok()?, 0));
    }
    let files = named.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file());
    let (logs, others): (Vec<PathBuf>, Vec<_>) = files.partition(|path| AuditLog::open([path]).is_ok());
    let log: Result<AuditLog, CaptureError> = AuditLog::open(&logs);
    Some((log.ok()?, others.len() as u64)).filter(|_| !logs.is_empty())
}
