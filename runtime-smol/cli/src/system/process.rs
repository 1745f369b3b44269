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

/// Whether standard output was closed when this process began.
///
/// Rust opens `/dev/null` in its place, for reading and writing; a shell's `> /dev/null` is for writing alone.
#[cfg(unix)]
pub(crate) fn stdout_is_closed() -> bool {
    use rustix::fs::{OFlags, fcntl_getfl, fstat, stat};
    let device = fstat(std::io::stdout()).map(|file| file.st_rdev);
    let is_null = stat("/dev/null").is_ok_and(|null| device == Ok(null.st_rdev));
    is_null && fcntl_getfl(std::io::stdout()).is_ok_and(|flags| flags.contains(OFlags::RDWR))
}

#[cfg(not(unix))]
pub(crate) fn stdout_is_closed() -> bool {
    false
}
