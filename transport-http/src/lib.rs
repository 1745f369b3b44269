//! List and watch over HTTP/1.1, with [`ureq`].
//!
//! ```no_run
//! use listwatch_core::{ListerWatcher, Request, RequestId};
//! use listwatch_transport_http::HttpTransport;
//!
//! let mut transport = HttpTransport::new("http://127.0.0.1:8001"); // `kubectl proxy`
//! transport.open(RequestId(1), &Request::parse("/api/v1/pods?limit=500"));
//! ```
#![forbid(unsafe_code)]

mod error;
mod exchange;
mod head;
mod pipe;
mod server;
mod transport;

pub use transport::HttpTransport;
