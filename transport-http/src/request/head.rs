use listwatch_core::transport::ResponseHead;
use ureq::http::Response;

/// The parts of a response's head that the machines read.
pub(crate) fn of<B>(response: &Response<B>) -> ResponseHead {
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    ResponseHead::from_headers(response.status().as_u16(), header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_comes_without_its_parameters() {
        let response = Response::builder().status(410).header("Content-Type", "Application/JSON; charset=utf-8");
        let head = of(&response.body(()).unwrap());
        assert_eq!(
            (head.status, head.content_type.as_deref(), head.retry_after),
            (410, Some("application/json"), None)
        );
    }
}
