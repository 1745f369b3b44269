use super::percent::percent_decode_bytes;
use alloc::vec::Vec;

/// Whether a request, or its response, may contain a secret, by the target: the path, with the query or without.
///
/// That is so for Secrets in any form, for the tokens of service accounts, and for reviews of tokens. A list of the
/// metadata of Secrets is one form, because the annotation `last-applied-configuration` repeats the contents.
///
/// ```
/// use listwatch_core::request::is_confidential;
///
/// assert!(is_confidential("/api/v1/namespaces/web/secrets/a?watch=1"));
/// assert!(!is_confidential("/api/v1/namespaces/secrets/pods"));
/// ```
pub fn is_confidential(target: &str) -> bool {
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    let segments: Vec<Vec<u8>> =
        path.split('/').filter(|segment| !segment.is_empty()).map(percent_decode_bytes).collect();
    let segments: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
    let mut plurals = segments.iter().enumerate().filter_map(|(at, segment)| match *segment {
        b"api" => Some(plural(segments.get(at + 2..)?)),
        b"apis" => Some(plural(segments.get(at + 3..)?)),
        _ => None,
    });
    segments.last() == Some(&&b"token"[..]) || plurals.any(|plural| matches!(plural, b"secrets" | b"tokenreviews"))
}

/// The plural of the resource in a path behind its version.
fn plural<'p>(segments: &[&'p [u8]]) -> &'p [u8] {
    match segments {
        // A deprecated form of watches.
        [b"watch", rest @ ..] => plural(rest),
        [b"namespaces", _, plural, ..] | [plural, ..] => plural,
        [] => b"",
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_tokens_are_told_from_what_has_their_names() {
        for target in [
            "/api/v1/secrets?limit=500",
            "/api/v1/secrets?watch=1&resourceVersion=7",
            "/api/v1/namespaces/web/secrets",
            "/api/v1/namespaces/web/secrets/a",
            "/api/v1//namespaces/web/secrets/a/status",
            "/api/v1/namespaces/secrets/secrets/secrets",
            "/api/v1/secret%73",
            "/api/v1/watch/namespaces/web/secrets/a",
            "/api/proxy/api/v1/secrets",
            "/apis/example.com/v1/namespaces/web/secrets/a",
            "/api/v1/namespaces/web/serviceaccounts/a/token",
            "/api/v1/namespaces/web/serviceaccounts/a/token?fieldManager=a",
            "/apis/authentication.k8s.io/v1/tokenreviews",
        ] {
            assert!(is_confidential(target), "{target}");
        }
        for target in [
            "/api/v1/pods?labelSelector=secrets",
            "/api/v1/namespaces/secrets",
            "/api/v1/namespaces/secrets/pods/secrets",
            "/api/v1/namespaces/web/configmaps/secrets",
            "/apis/secrets/v1/pods",
            "/api/v1/nodes/secrets/status",
            "/api/v1",
            "/apis/apps/v1",
            "/version",
            "",
        ] {
            assert!(!is_confidential(target), "{target}");
        }
    }
}
