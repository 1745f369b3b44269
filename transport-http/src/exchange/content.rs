use core::ops::Range;

/// What a body has next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// These of the bytes are data; at least one.
    Data(Range<usize>),
    End,
}

impl Content {
    /// The data of the bytes from `start` to `end`, as far as the body goes on. Returns where it ends, and the data if
    /// there is any.
    pub(super) fn data(start: usize, end: usize, left: &mut u64) -> (usize, Option<Self>) {
        let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(end - start);
        *left -= taken as u64;
        let end = start + taken;
        (end, if taken == 0 { None } else { Some(Self::Data(start..end)) })
    }
}
