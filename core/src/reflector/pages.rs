//! Checks that a list makes progress from page to page.

use super::failure::Failure;
use crate::object::{Version, is_older};
use crate::text::SharedText;

/// More empty pages in a row than this are no progress. An API server sends none: it fills each page.
const MOST_EMPTY: u32 = 4;

/// The pages of the list that is being read.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The list is requested without pages: the version of its pages had expired.
    pub(super) is_unpaged: bool,
    /// The page that is being read has an item.
    pub(super) has_item: bool,
    read: u32,
    empty: u32,
    /// An earlier token, replaced each time the number of pages has doubled. Tokens in a cycle return to it (Brent's
    /// algorithm).
    remembered: Option<SharedText>,
    /// The oldest version of a page.
    oldest: Option<Version>,
}

impl Pages {
    pub(super) fn unpaged() -> Self {
        Self { is_unpaged: true, ..Self::default() }
    }

    /// The version from which a watch misses nothing after a page of `version` and those before: that of the oldest page.
    pub(super) fn oldest(&mut self, version: &str) -> Version {
        let before = self.oldest.take().filter(|before| is_older(before, version));
        let oldest = before.or_else(|| Version::copied(version)).unwrap_or_default();
        self.oldest.insert(oldest).clone()
    }

    /// Notes the end of the page of `token`, whose continue token is `next`. Returns the failure where the list makes no
    /// progress.
    pub(super) fn next(&mut self, token: Option<&str>, next: &SharedText, limit: u32) -> Option<Failure> {
        self.read = self.read.saturating_add(1);
        self.empty = if core::mem::take(&mut self.has_item) { 0 } else { self.empty.saturating_add(1) };
        if [token, self.remembered.as_deref()].contains(&Some(next)) {
            return Some(Failure::RepeatedPage);
        }
        if self.read.is_power_of_two() {
            self.remembered = Some(next.clone());
        }
        if self.empty > MOST_EMPTY {
            return Some(Failure::EmptyPages);
        }
        (self.read >= limit).then_some(Failure::TooManyPages { limit })
    }
}

#[cfg(test)]
#[cfg(feature = "json")]
mod tests {
    use super::*;
    use std::format;

    /// After how many pages a list is given up that has these tokens, and why.
    fn given_up(token: impl Fn(u32) -> u32, empty: bool) -> (u32, Failure) {
        let mut pages = Pages::default();
        let mut asked: Option<SharedText> = None;
        let turn = |page| {
            let next = SharedText::from(&*format!("{}", token(page)));
            pages.has_item = !empty;
            let failure = pages.next(asked.as_deref(), &next, 1000);
            asked = Some(next);
            failure.map(|failure| (page, failure))
        };
        (1..).find_map(turn).unwrap()
    }

    #[test]
    fn tokens_that_go_round_are_found_however_long_the_way_round_is() {
        for (length, start) in [(1, 0), (2, 0), (3, 5), (7, 1), (100, 30)] {
            let (page, failure) = given_up(|page| if page < start { page } else { start + page % length }, false);
            assert_eq!(failure, Failure::RepeatedPage);
            assert!(page <= 3 * (length + start) + 1, "{length} from {start}: after {page}");
        }
    }

    #[test]
    fn a_page_that_leads_to_itself_is_found_at_once() {
        for page in 1..100 {
            assert_eq!(given_up(|token| token.min(page), false), (page + 1, Failure::RepeatedPage));
        }
    }

    #[test]
    fn pages_without_items_and_pages_without_an_end_are_given_up() {
        assert_eq!(given_up(|page| page, true), (MOST_EMPTY + 1, Failure::EmptyPages));
        assert_eq!(given_up(|page| page, false), (1000, Failure::TooManyPages { limit: 1000 }));
    }
}
