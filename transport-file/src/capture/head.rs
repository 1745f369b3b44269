use super::format::ResponseRecord;
use listwatch_core::transport::ResponseHead;

/// The head of a recorded response.
pub(crate) fn head(response: &ResponseRecord<'_>) -> ResponseHead {
    let header = |name: &str| {
        let found = response.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.0.trim())
    };
    ResponseHead::from_headers(response.status, header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
        ResponseHead::from_headers(503, |name| if name == "retry-after" { Some(value) } else { date }).retry_after
    }

    #[test]
    fn a_date_to_retry_after_is_taken_against_the_answers_own() {
        let date = Some("Fri, 20 Nov 2026 10:43:07 GMT");
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:44:00 GMT", date), Some(Duration::from_secs(53)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:00:00 GMT", date), Some(Duration::ZERO));
        assert_eq!(retry_after("7", None), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Fri, 20 Nov 2026 10:44:00 GMT", None), None);
    }

    #[test]
    fn header_names_are_read_in_any_case_and_media_types_without_parameters() {
        let line = br#"{"t":1,"id":1,"response":{"status":503,"headers":{"Content-Type":"Text/Plain; charset=utf-8","Retry-After":"1"}}}"#;
        let Ok(crate::capture::format::Line::Record(record)) = crate::capture::format::Line::parse(line) else {
            panic!()
        };
        let crate::capture::format::Payload::Response(response) = record.payload else { panic!() };
        let head = head(&response);
        assert_eq!(head.content_type.as_deref(), Some("text/plain"));
        assert_eq!((head.status, head.retry_after), (503, Some(Duration::from_secs(1))));
    }
}
