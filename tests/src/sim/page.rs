//! Continue tokens.

use super::object::KeyNumber;

/// Where a list goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// The revision of the first page; `None` in a token that was offered in place of an expired one, and that goes on
    /// with whatever there is.
    pub(super) revision: Option<u64>,
    /// The first object of the page.
    pub(super) first: KeyNumber,
}

impl Page {
    /// The token that leads to it.
    #[must_use]
    pub(super) fn token(self) -> String {
        let revision = self.revision.map_or_else(|| "-1".to_owned(), |revision| revision.to_string());
        format!("v1:{revision}:{}", self.first)
    }

    /// Reads a token.
    #[must_use]
    pub(super) fn parse(token: &str) -> Option<Self> {
        let (revision, first) = token.strip_prefix("v1:")?.split_once(':')?;
        let revision = if revision == "-1" { None } else { Some(revision.parse().ok()?) };
        Some(Self { revision, first: first.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_to_its_page() {
        for page in [Page { revision: Some(12), first: 3 }, Page { revision: None, first: 0 }] {
            assert_eq!(Page::parse(&page.token()), Some(page));
        }
        assert_eq!(Page::parse("v1:12"), None);
    }
}
