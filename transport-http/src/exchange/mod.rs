//! One HTTP/1.1 exchange after another over a connection of the firmware: without the standard library, without a heap,
//! and without a connection of its own.
//!
//! | to | use |
//! |---|---|
//! | write a request | [`Endpoint::get`], which makes a [`Get`] |
//! | read an answer from bytes in any pieces | [`Response`] |
//! | do both over `embedded_io`, or `embedded_io_async` | [`Exchange`] |
//! | run an informer over them, with a heap and without | [`HttpSource`], in a task [`AsyncHttpSource`] |
//!
//! The firmware connects, and has its own TLS: anything that implements `Read` and `Write` is a connection. Here it is two
//! slices.
//!
//! ```
//! use listwatch_transport_http::exchange::{Endpoint, Exchange, Received};
//!
//! let (mut sent, mut buffer) = ([0; 256], [0; 64]);
//! let mut answer = &b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"items\":[]}"[..];
//!
//! let endpoint = Endpoint::new("10.0.0.1:6443").with_token("eyJhbGciOi");
//! let mut exchange = Exchange::<128>::new();
//! exchange.open(&mut &mut sent[..], &endpoint.get("/api/v1/pods?limit=500", "application/json"))?;
//! let Received::Head(head) = exchange.read(&mut answer, &mut buffer)? else { panic!("an answer begins with its head") };
//! assert_eq!((head.status(), head.content_type()), (200, Some("application/json")));
//! assert_eq!(exchange.read(&mut answer, &mut buffer)?, Received::Data(12));
//! assert_eq!(exchange.read(&mut answer, &mut buffer)?, Received::End);
//! assert!(buffer.starts_with(b"{\"items\":[]}") && exchange.is_reusable());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//!
//! A head has at most 16,384 bytes, as has a trailer. The extension of a chunk has 256. Each header that frames the body
//! has 128. A body may be of any length; nothing of it is kept. An answer over a limit, or one that two readers could
//! divide differently, is refused by a [`ProtocolError`].

#[cfg(feature = "embedded-io")]
mod blocking;
mod body;
#[cfg(any(feature = "embedded-io", feature = "embedded-io-async"))]
mod buffered;
mod error;
mod get;
mod head;
mod lines;
mod response;
#[cfg(any(feature = "embedded-io", feature = "embedded-io-async"))]
mod source;
#[cfg(feature = "embedded-io-async")]
mod tasks;
#[cfg(test)]
mod tests;

#[cfg(feature = "embedded-io")]
pub use blocking::Connection;
pub use body::Part;
#[cfg(any(feature = "embedded-io", feature = "embedded-io-async"))]
pub use buffered::{Exchange, Received};
pub use error::{ExchangeError, ProtocolError, RequestPart};
pub use get::{Endpoint, Get};
pub use head::Head;
#[cfg(feature = "ureq")]
pub(crate) use lines::is_token;
pub use response::Response;
#[cfg(any(feature = "embedded-io", feature = "embedded-io-async"))]
pub use source::HttpSource;
#[cfg(feature = "embedded-io-async")]
pub use tasks::{AsyncConnection, AsyncHttpSource};
