//! Properties of this process.

/// A field of `/proc/self/status`, if there is such a file.
pub(super) fn status(field: &str) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

/// The most memory that this process had resident, in KiB. Only Linux tells.
pub(crate) fn peak_memory() -> Option<u64> {
    status("VmHWM")?.strip_suffix("kB")?.trim().parse().ok()
}
