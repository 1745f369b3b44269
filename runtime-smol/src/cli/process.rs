//! What the system knows of this process.

/// A field of `/proc/self/status`, where there is such a file.
pub(crate) fn status(field: &str) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}
